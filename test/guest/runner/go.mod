module deckhand/guest-runner

go 1.26
