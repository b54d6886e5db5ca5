// Empty: this library exists to compile the precompiled header once.
