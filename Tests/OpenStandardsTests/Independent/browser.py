#!/usr/bin/python3
"""A browser whose person agrees to everything: looking is enough. For tests, as BROWSER."""
import sys
import urllib.request

urllib.request.urlopen(sys.argv[1]).read()
