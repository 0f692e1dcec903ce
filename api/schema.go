package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

// ReportSchema is the JSON Schema of reports, which is that of the OpenAPI document by itself.
var ReportSchema = sync.OnceValues(func() ([]byte, error) {
	var doc struct {
		Components struct {
			Schemas map[string]any `yaml:"schemas"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal(openAPI, &doc); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	all, used := doc.Components.Schemas, map[string]any{}
	schema, ok := all["Report"].(map[string]any)
	if !ok {
		return nil, errors.New("the OpenAPI document has no schema of reports")
	}
	define(schema, all, used)
	schema["$schema"], schema["$defs"] = "https://json-schema.org/draft/2020-12/schema", used
	schema["title"] = "Report of a detection"
	return json.MarshalIndent(schema, "", "  ")
})

// define takes what a schema refers to from all into used, and has it refer to that.
func define(schema any, all, used map[string]any) {
	switch s := schema.(type) {
	case []any:
		for _, each := range s {
			define(each, all, used)
		}
	case map[string]any:
		for key, value := range s {
			name, isRef := strings.CutPrefix(fmt.Sprint(value), "#/components/schemas/")
			if key != "$ref" || !isRef {
				define(value, all, used)
				continue
			}
			s[key] = "#/$defs/" + name
			if _, known := used[name]; !known {
				used[name] = all[name]
				define(all[name], all, used)
			}
		}
	}
}
