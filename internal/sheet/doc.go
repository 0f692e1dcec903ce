// Package sheet is what all pictures of the project look like: an empty plot with
// its fonts, colours, strokes and legend, and how it becomes a PNG file.
package sheet
