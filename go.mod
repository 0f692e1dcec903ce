module deepfaked

go 1.26.0
