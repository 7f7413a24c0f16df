# What a command sees of its cluster.
kubectl wait --for=condition=Ready node/node --timeout=0 >/dev/null
echo 'node is Ready'

kubectl create deployment web --image=web:test --port=8080 >/dev/null
kubectl expose deployment web --port=80 --target-port=8080 >/dev/null
kubectl rollout status deployment web --timeout=60s >/dev/null
address=$(kubectl get service web -o jsonpath='{.spec.clusterIP}')
for try in 1 2 3 4 5 6 7 8 9 10; do
  if [ "$(curl --silent --max-time 2 "http://$address/")" = ok ]; then
    echo 'service answers'
    break
  fi
  sleep 0.5
done
kubectl logs deployment/web

kubectl label namespace default pod-security.kubernetes.io/enforce=restricted >/dev/null 2>&1
if ! kubectl run bare --image=web:test 2>&1 | grep --quiet 'violates PodSecurity "restricted:latest"'; then
  exit 1
fi
echo 'pod refused: restricted'

kubectl create serviceaccount narrow >/dev/null
if ! kubectl auth can-i list pods --as=system:serviceaccount:default:narrow >/dev/null; then
  echo 'role refused: pods'
fi

if ! curl --silent --max-time 2 http://1.1.1.1/ >/dev/null; then
  echo 'outside: no answer'
fi
exit 7
