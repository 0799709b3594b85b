# Front door: every target is one line here and what it does stands behind the ##.
.DEFAULT_GOAL := help
.PHONY: help build

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

build: ## build everything and install it into .venv
	./bootstrap build
