package api

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/goccy/go-yaml"

	"deepfaked/inference"
	"deepfaked/internal/report"
	"deepfaked/preprocess"
)

// document is what of an OpenAPI document is compared with the code.
type document struct {
	OpenAPI    string                               `yaml:"openapi"`
	Paths      map[string]map[string]map[string]any `yaml:"paths"`
	Components struct {
		Schemas map[string]struct {
			Required   []string       `yaml:"required"`
			Properties map[string]any `yaml:"properties"`
		} `yaml:"schemas"`
	} `yaml:"components"`
}

// The document names the routes that exist, and each schema has the fields of
// its representation.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	var doc document
	if err := yaml.Unmarshal(openAPI, &doc); err != nil {
		t.Fatal(err)
	}
	var described []string
	for path, methods := range doc.Paths {
		for method := range methods {
			described = append(described, strings.ToUpper(method)+" "+strings.ReplaceAll(path, "{id}", ":id"))
		}
	}
	if served := servedRoutes(t); !sameSet(described, served) {
		t.Errorf("described: %v\nserved: %v", described, served)
	}
	for name, value := range map[string]any{
		"SyncResult": syncResult{}, "Acceptance": acceptance{}, "ProcessingResult": processingResult{},
		"CompleteResult": completeResult{}, "FailedResult": failedResult{}, "Usage": usageObject{}, "Error": errorBody{},
		"Report": report.Document{}, "Detail": detail{}, "Signature": report.Signature{}, "ErrorRate": inference.ErrorRate{}, "Tile": inference.Tile{}, "Note": inference.Note{}, "Reason": inference.Reason{}, "Finding": inference.Finding{}, "Stretch": inference.Stretch{}, "Piece": inference.Piece{},
		"ModelUsed": inference.ModelUsed{}, "FusionUsed": inference.FusionUsed{},
	} {
		var properties, fields, required []string
		for property := range doc.Components.Schemas[name].Properties {
			properties = append(properties, property)
		}
		for _, field := range reflect.VisibleFields(reflect.TypeOf(value)) {
			if field.Anonymous {
				continue
			}
			tag, option, _ := strings.Cut(field.Tag.Get("json"), ",")
			fields = append(fields, tag)
			if option == "" {
				required = append(required, tag)
			}
		}
		if !sameSet(properties, fields) || !sameSet(doc.Components.Schemas[name].Required, required) {
			t.Errorf("%s: described %v, answered %v", name, properties, fields)
		}
	}
}

func servedRoutes(t *testing.T) []string {
	t.Helper()
	opts := DefaultOptions()
	handler, err := (&Server{opts: opts}).routes()
	if err != nil {
		t.Fatal(err)
	}
	var served []string
	for _, route := range handler.(*gin.Engine).Routes() {
		if route.Method != http.MethodHead {
			served = append(served, route.Method+" "+route.Path)
		}
	}
	return served
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// Every code that the document lists has a status of its own, and no other has.
func TestCodes(t *testing.T) {
	t.Parallel()
	var doc struct {
		Components struct {
			Schemas struct {
				Error struct {
					Properties struct {
						Error struct{ Enum []string }
					}
				} `yaml:"Error"`
			}
		}
	}
	if err := yaml.Unmarshal(openAPI, &doc); err != nil {
		t.Fatal(err)
	}
	codes := doc.Components.Schemas.Error.Properties.Error.Enum
	if len(codes) != 13 {
		t.Errorf("%d codes are described: %v", len(codes), codes)
	}
	for _, code := range codes {
		if status := (&problem{code: code}).status(); (status == http.StatusInternalServerError) != (code == internalError) {
			t.Errorf("%s has the status %d", code, status)
		}
	}
}

// Clients made from the document could not see Retry-After, which the documented
// example waits by: it stood in descriptions only.
func TestDocumentDeclaresRetryAfter(t *testing.T) {
	t.Parallel()
	type response struct {
		Ref     string         `yaml:"$ref"`
		Headers map[string]any `yaml:"headers"`
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]response `yaml:"responses"`
		} `yaml:"paths"`
		Components struct {
			Responses map[string]response `yaml:"responses"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal(openAPI, &doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for method, operation := range methods {
			for status, r := range operation.Responses {
				if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
					r = doc.Components.Responses[name]
				}
				_, declared := r.Headers["Retry-After"]
				sent := status == "429" || status == "202" || status == "503" && path == "/v1/detect" || path == "/v1/results/{id}" && status == "200"
				if declared != sent {
					t.Errorf("%s %s %s: Retry-After declared: %t, sent: %t", method, path, status, declared, sent)
				}
			}
		}
	}
}

// Every note that the document lists is one.
func TestNotesAreDescribed(t *testing.T) {
	t.Parallel()
	var doc struct {
		Components struct {
			Schemas struct {
				Note struct {
					Properties struct {
						Code struct{ Enum []preprocess.Note }
					}
				} `yaml:"Note"`
			}
		}
	}
	if err := yaml.Unmarshal(openAPI, &doc); err != nil {
		t.Fatal(err)
	}
	notes := doc.Components.Schemas.Note.Properties.Code.Enum
	if len(notes) != 7 {
		t.Errorf("%d notes are described: %v", len(notes), notes)
	}
	for _, n := range notes {
		if n.Message() == "" {
			t.Errorf("%s is no note", n)
		}
	}
}
