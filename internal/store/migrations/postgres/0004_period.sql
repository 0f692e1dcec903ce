-- Start of the period whose allowance a detection is counted in; NULL for one of before.
ALTER TABLE detections ADD COLUMN period BIGINT;
