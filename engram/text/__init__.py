"""How text falls apart into words and stems. Pure; shared by what writes memories and what asks for them."""
