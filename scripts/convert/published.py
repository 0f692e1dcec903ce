"""The detectors that can be converted: where they are from and what they are."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from convert import aasist, classnseg, landmarks, lrnet, mesonet, rawgat

WINDOW = 64_000  # samples of a window, as the service cuts them
MARGIN = 1.3  # side of a face crop over the longer side of the face
SPEECH, FACES, MOTION = "speech-synthesis", "face-manipulation", "face-motion"

ASVSPOOF = {
    "name": "ASVspoof 2019 logical access, training part", "repository": "Edinburgh DataShare 10283/3336", "commit": "",
    "licence": "ODC-By 1.0", "real": 2580, "fake": 22800,
}
DEEPFAKES = {
    "name": "faces out of deepfakes and films found on the web, collected by the authors", "repository": "DariusAf/MesoNet",
    "commit": "", "licence": "not stated; third parties' videos", "real": 7250, "fake": 5111,
}
FACEFORENSICS = {
    "name": "FaceForensics, Face2Face (number of faces not stated)", "repository": "ondyari/FaceForensics", "commit": "",
    "licence": "FaceForensics terms of use, for research only", "real": 0, "fake": 0,
}
DEEPERFORENSICS = {
    "name": "DeeperForensics-1.0, the recurrent networks (number of videos not stated)", "repository": "EndlessSora/DeeperForensics-1.0",
    "commit": "", "licence": "DeeperForensics-1.0 terms of use, for non-commercial research", "real": 0, "fake": 0,
}
LABELLED = {
    "name": "photographs of faces, the landmarks (about 35,000, which none of them judges)", "repository": "justadudewhohacks/face-api.js",
    "commit": "", "licence": "not stated", "real": 0, "fake": 0,
}


@dataclass(frozen=True)
class Published:
    """One detector as its authors published it."""

    name: str
    folders: tuple[str, ...]  # of its files among the published weights
    files: tuple[str, ...]  # that conversion reads
    load: Callable[[Path], object]  # folder -> network from rows to log-odds of fake
    task: str
    origin: str  # repository and commit
    licence: str
    description: str
    sources: tuple[dict, ...]  # of the training media
    data: str  # their licence

    @property
    def shape(self):
        """Of one row."""
        return tuple(self.input["shape"][1:])

    @property
    def input(self):
        """The input of the card."""
        if self.task == SPEECH:
            return {"name": "samples", "type": "float32", "shape": [-1, WINDOW]}
        picture = [lrnet.FRAMES, landmarks.SIDE, landmarks.SIDE, 3] if self.task == MOTION else [mesonet.SIDE, mesonet.SIDE, 3]
        return {"name": "pixels", "type": "uint8", "shape": [-1, *picture]}

    @property
    def preprocessing(self):
        """What the card says about rows."""
        return {
            SPEECH: {"sample_rate": 16000, "window_samples": WINDOW}, FACES: {"margin": MARGIN},
            MOTION: {"margin": landmarks.MARGIN, "frames": lrnet.FRAMES},
        }[self.task]


def heard(name, file, load, **more):
    """A detector of synthetic speech."""
    return Published(
        name=name, load=partial(load, name=file, samples=WINDOW), task=SPEECH, licence="MIT", sources=(ASVSPOOF,),
        data="Trained by its authors on ASVspoof 2019 (ODC-By 1.0), which is not part of this model.", **more,
    )


def seen(name, folder, file, load, suffix, source, **more):
    """A detector of manipulated faces."""
    return Published(
        name=name, folders=(folder,), files=(file + suffix,), load=partial(load, name=file), task=FACES,
        sources=(source,), data="Trained by its authors on third parties' videos, which are not part of this model.", **more,
    )


def meso(name, file, kind, method, source):
    """One of MesoNet's four."""
    return seen(
        name, "mesonet", file, mesonet.load, ".h5", origin="DariusAf/MesoNet at 2144d56a30e4", licence="Apache-2.0", source=source,
        description=f"{kind} (Afchar et al., WIFS 2018), published weights for {method}: judges one face. "
        "Its authors report over 98 % on the face swaps and 95 % on the reenactments of 2018.",
    )


ALL = {
    p.name: p
    for p in (
        heard(
            "aasist", "AASIST", aasist.load, folders=("aasist",), files=("AASIST.pth", "AASIST.conf"),
            origin="clovaai/aasist at a04c9863f63d",
            description="AASIST (Jung et al., ICASSP 2022), published weights: judges one window of speech. "
            "Its authors report an equal error rate of 0.83 % on ASVspoof 2019, which says little about other recordings.",
        ),
        heard(
            "aasist-l", "AASIST-L", aasist.load, folders=("aasist",), files=("AASIST-L.pth", "AASIST-L.conf"),
            origin="clovaai/aasist at a04c9863f63d",
            description="AASIST-L, the small AASIST (Jung et al., ICASSP 2022), published weights: judges one window of speech. "
            "Its authors report an equal error rate of 0.99 % on ASVspoof 2019, which says little about other recordings.",
        ),
        heard(
            "rawgat-st", "RawGAT_ST_mul", rawgat.load, folders=("rawgat_st",), files=("RawGAT_ST_mul.pth",),
            origin="eurecom-asp/RawGAT-ST-antispoofing at e3b049f79b3c",
            description="RawGAT-ST, fused by multiplication (Tak et al., ASVspoof workshop 2021), published weights: judges one "
            "window of speech. Its authors' scores give an equal error rate of 1.06 % on ASVspoof 2019, which says little about "
            "other recordings.",
        ),
        meso("meso4-df", "Meso4_DF", "Meso-4", "face swaps", DEEPFAKES),
        meso("meso4-f2f", "Meso4_F2F", "Meso-4", "Face2Face reenactment", FACEFORENSICS),
        meso("mesoinception-df", "MesoInception_DF", "MesoInception-4", "face swaps", DEEPFAKES),
        meso("mesoinception-f2f", "MesoInception_F2F", "MesoInception-4", "Face2Face reenactment", FACEFORENSICS),
        seen(
            "classnseg", "classnseg", "encoder_46", classnseg.load, ".pt", origin="nii-yamagishilab/ClassNSeg at 87e506fddb9f",
            licence="BSD-3-Clause", source=FACEFORENSICS,
            description="The encoder of ClassNSeg (Nguyen et al., BTAS 2019), published weights for Face2Face reenactment: judges one "
            "face. It does not draw the mask of what was changed.",
        ),
        Published(
            name="lrnet", folders=("lrnet", "landmark68"), files=(*lrnet.FILES, *landmarks.FILES), load=lrnet.load, task=MOTION,
            origin="frederickszk/LRNet at 9a172a0ccebe and justadudewhohacks/face-api.js at a86f011d7212", licence="MIT",
            sources=(DEEPERFORENSICS, LABELLED),
            description="LRNet (Sun et al., CVPR 2021), published weights: judges how the landmarks of one face move over 30 frames. "
            "The landmarks are those that face-api.js's network finds, without the authors' calibration by optical flow, which costs "
            "it skill. Their figures, an AUC of .885 to .990 on FaceForensics++, are of other weights and say little about other "
            "videos.",
            data="Trained by its authors on DeeperForensics-1.0 and on labelled photographs, which are not part of this model.",
        ),
    )
}
