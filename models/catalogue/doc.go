// Package catalogue lists detectors that others have published: where their
// files are, what their licences are and what their authors measured.
package catalogue
