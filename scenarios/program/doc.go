// Package program compiles what a scenario says about a container, its rules and named answers, to a program for package
// fakeruntime. It knows what each kind of probe and hook asks, and reports rules that the program of the container cannot follow.
package program
