package filename

import (
	"reflect"

	"github.com/alecthomas/kong"
)

// Verbatim has kong take strings byte by byte. By itself it takes them through JSON, which
// puts U+FFFD for each byte that is not UTF-8: the name of another file.
func Verbatim() kong.Option {
	return kong.KindMapper(reflect.String, kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		value, err := ctx.Scan.PopValue("string")
		if err == nil {
			target.SetString(value.String())
		}
		return err
	}))
}

// List is the names in a list that is separated by colons; one behind a backslash
// belongs to the name. Kong's own lists (sep) are not taken byte by byte.
func List(text string) (names []string) {
	name := ""
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == ':':
			names, name = append(names, name), ""
			continue
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == ':':
			i++
		}
		name += text[i : i+1]
	}
	if name != "" {
		names = append(names, name)
	}
	return names
}
