// Package program compiles the rules and named answers of a container to a program for package
// fakeruntime. It reports rules that the program cannot follow.
package program
