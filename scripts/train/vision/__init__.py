"""What the picture and the face model share: canonical pictures, folds, training, figures, export."""
