// This file lets functions of the package have no body: see evict.go.
