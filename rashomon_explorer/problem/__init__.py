"""Problems: rows, loss, domain and ridge, with certified minima."""
