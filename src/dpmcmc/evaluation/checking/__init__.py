"""Is a model or an algorithm right, and is it private?"""
