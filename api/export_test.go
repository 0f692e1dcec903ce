package api

// LoseListener takes the server's socket away, as nothing but a fault could.
func (s *Server) LoseListener() error { return s.listener.Close() }
