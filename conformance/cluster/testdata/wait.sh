# Runs a pod, says so, and waits.
kubectl create deployment web --image=web:test >/dev/null
kubectl rollout status deployment web --timeout=60s >/dev/null
echo running
exec sleep 1000
