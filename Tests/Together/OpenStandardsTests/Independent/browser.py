#!/usr/bin/python3
"""A browser whose user consents to everything: opening a page is enough. For tests, as BROWSER."""
import sys, urllib.request

urllib.request.urlopen(sys.argv[1]).read()
