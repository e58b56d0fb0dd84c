"""What a learner sees of a result, as text and as HTML."""
