// Package drive executes a plan in a world, a simulated node or the real kubelet: it adds the pods,
// and takes the steps at their times or after the moments that they wait for.
package drive
