// Package bucket keeps the uploads of accepted jobs in a bucket, where every
// process that runs jobs finds them: one of Amazon S3 or a server that speaks
// like it, of Google Cloud Storage, or of Azure Blob Storage. Within one machine
// internal/spool does the same with a folder, and without copying.
package bucket
