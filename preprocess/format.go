package preprocess

// Format is a file format as a person names it.
type Format string

// The formats that are recognised by their first bytes. Everything else is
// refused before a decoder sees it.
const (
	JPEG Format = "JPEG"
	PNG  Format = "PNG" // animated ones too
	WebP Format = "WebP"
	GIF  Format = "GIF"
	BMP  Format = "BMP"
	TIFF Format = "TIFF"
	HEIC Format = "HEIC" // any HEIF picture coded in HEVC
	AVIF Format = "AVIF"

	WAV   Format = "WAV" // RIFF, RIFX, RF64
	MP3   Format = "MP3"
	AAC   Format = "AAC" // a bare ADTS stream
	FLAC  Format = "FLAC"
	OGG   Format = "OGG" // Vorbis, Opus, FLAC, or a video in Theora
	AMR   Format = "AMR"
	AMRWB Format = "AMR-WB"

	MP4      Format = "MP4"
	M4A      Format = "M4A"
	MOV      Format = "MOV"
	ThreeGP  Format = "3GP"
	Matroska Format = "MKV"
	WebM     Format = "WebM"
	AVI      Format = "AVI"
)

// Kind is what a file of this format must be. It is empty for the containers
// of sound and video: which of the two one is, only its streams tell.
func (f Format) Kind() Kind {
	switch f {
	case JPEG, PNG, WebP, GIF, BMP, TIFF, HEIC, AVIF:
		return Image
	case WAV, MP3, AAC, FLAC, AMR, AMRWB:
		return Audio
	default:
		return ""
	}
}
