"""Many runs: seeds × methods × tasks; their statistics and figures."""
