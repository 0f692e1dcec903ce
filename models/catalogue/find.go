package catalogue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// near is how many letters may differ between a name and what was meant.
const near = 3

// Find returns the entry of a name. The error names those that were perhaps
// meant.
func Find(all []Entry, name string) (Entry, error) {
	if i := slices.IndexFunc(all, func(e Entry) bool { return e.Name == name }); i >= 0 {
		return all[i], nil
	}
	meant := alike(all, name)
	if len(meant) == 0 {
		return Entry{}, fmt.Errorf("the catalogue has no model called %q; deepfaked models catalogue lists all", name)
	}
	return Entry{}, fmt.Errorf("the catalogue has no model called %q; did you mean %s? deepfaked models catalogue lists all", name, strings.Join(meant, " or "))
}

// alike are the names that resemble one, the nearest first.
func alike(all []Entry, name string) []string {
	name = strings.ToLower(name)
	distances := map[string]int{}
	var names []string
	for _, e := range all {
		d := distance(name, e.Name)
		if len(name) > near && strings.HasPrefix(e.Name, name[:near]) {
			d = min(d, near)
		}
		if d <= near && d < len(name) {
			names, distances[e.Name] = append(names, e.Name), d
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(distances[a], distances[b]) })
	return names
}

// distance is that of Levenshtein (1966), on bytes: how many must be put in,
// taken out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before, row[j+1] = row[j+1], min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
