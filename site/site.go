// Package site has the files of the site that the build takes as they are.
package site

import (
	"embed"
	"io/fs"
)

//go:embed assets
var assets embed.FS

// Assets returns the files, by their paths on the site.
func Assets() fs.FS {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the directory is embedded
	}
	return files
}
