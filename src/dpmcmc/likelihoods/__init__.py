"""What samplers ask of the rows, answered for each kind of model; and `Target`, which they see."""
