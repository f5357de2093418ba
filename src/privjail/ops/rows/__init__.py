"""Operations that select, order or look around rows."""
