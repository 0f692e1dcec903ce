package preprocess

// Note names something of a file that was left out of its judgement, though the rest of
// the file was judged. There are no others than these: a decoder child chooses among
// them, and the words are ours.
type Note string

// What may have been left out.
const (
	SoundUnsupported Note = "sound_unsupported"
	SoundDamaged     Note = "sound_damaged"
	SoundTooShort    Note = "sound_too_short"
	SoundSilent      Note = "sound_silent"
	OtherSound       Note = "other_sound"
	OtherPictures    Note = "other_pictures"
	Incomplete       Note = "incomplete"
)

// Message is the note as a sentence for people. It is empty for what is no note.
func (n Note) Message() string {
	switch n {
	case SoundUnsupported:
		return "The sound of the video was not judged, since its codec is not supported: the verdict is on the pictures alone."
	case SoundDamaged:
		return "The sound of the video was not judged, since too little of it can be decoded: the verdict is on the pictures alone."
	case SoundTooShort:
		return "The sound of the video was not judged, since it is shorter than 0.5 seconds: the verdict is on the pictures alone."
	case SoundSilent:
		return "The sound of the video was not judged, since it is silent wherever it would be: the verdict is on the pictures alone."
	case OtherSound:
		return "The file has several tracks of sound, of which one was judged."
	case OtherPictures:
		return "The file has several pictures, pages or tracks of pictures, of which one was judged."
	case Incomplete:
		return "Part of the file is missing or damaged: it was left out, or judged as far as it could be decoded."
	}
	return ""
}
