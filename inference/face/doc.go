// Package face finds faces in a frame and cuts them out for the models that
// judge faces. It is pure Go and works on pixels that were decoded elsewhere.
package face
