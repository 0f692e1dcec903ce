"""The picture model: is a picture generated as a whole?"""
