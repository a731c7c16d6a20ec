"""The playground: programs on a web page, checked and run by a local server or in the browser itself."""
