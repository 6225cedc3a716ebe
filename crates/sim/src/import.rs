//! Recorded movement: ns-2, BonnMotion, ONE and SUMO files, read into legs.
