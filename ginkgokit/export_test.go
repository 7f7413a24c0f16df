package ginkgokit

// Golden compares a text with a file in testdata.
var Golden = golden
