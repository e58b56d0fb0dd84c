"""What is known of a notebook that runs: its cells, the objects in it and their source, frames of its code."""
