package realkubelet

import (
	"context"
	"time"

	cri "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"probesim.dev/conformance/kubeletapi"
	"probesim.dev/fakeruntime"
	"probesim.dev/trace"
)

// imageService has every image. The name of an image is also its ID.
type imageService struct {
	cri.ImageManagerService
	runtime *runtimeService
	events  *eventRecorder
}

const (
	imageBytes = fakeruntime.ImageSize
	imageUser  = 1000 // of every image; not root, so runAsNonRoot works
)

func (i *imageService) ImageStatus(_ context.Context, image *runtimeapi.ImageSpec,
	_ bool) (*runtimeapi.ImageStatusResponse, error) {
	op := i.runtime.driver.call(fakeruntime.Call{
		Method: fakeruntime.ImageStatus, Image: image.Image, PodUID: i.runtime.workers.pod(),
	})
	if op.Err != nil || op.ID == "" {
		return &runtimeapi.ImageStatusResponse{}, op.Err
	}
	return &runtimeapi.ImageStatusResponse{Image: kubeletapi.ImageOfSize(imageBytes, &runtimeapi.Image{
		Id: op.ID, RepoTags: []string{image.Image}, Spec: image, Uid: &runtimeapi.Int64Value{Value: imageUser},
	})}, nil
}

func (i *imageService) PullImage(_ context.Context, image *runtimeapi.ImageSpec, _ *runtimeapi.AuthConfig,
	sandbox *runtimeapi.PodSandboxConfig) (string, error) {
	uid := sandbox.GetMetadata().GetUid()
	rec := i.events.pulls.get(uid)
	rec.Kind, rec.Message = trace.ImagePullStarted, image.Image
	i.runtime.driver.blockIfCut()
	i.events.recorder.add(rec)
	op := i.runtime.driver.call(fakeruntime.Call{Method: fakeruntime.PullImage, Image: image.Image, PodUID: uid})
	rec.Kind, rec.Message, rec.Result, rec.Took = trace.ImagePullEnded, "", resultOf(op.Err), op.End.Sub(op.Start)
	if op.Err != nil {
		rec.Message = op.Err.Error()
	}
	i.events.recorder.add(rec)
	return op.ID, op.Err
}

func (i *imageService) ListImages(context.Context, *runtimeapi.ImageFilter) ([]*runtimeapi.Image, error) {
	return nil, i.runtime.driver.call(fakeruntime.Call{Method: fakeruntime.ListImages}).Err
}

func (i *imageService) RemoveImage(context.Context, *runtimeapi.ImageSpec) error { return nil }

func (i *imageService) ImageFsInfo(context.Context) (*runtimeapi.ImageFsInfoResponse, error) {
	usage := []*runtimeapi.FilesystemUsage{{
		Timestamp:  time.Now().UnixNano(),
		FsId:       &runtimeapi.FilesystemIdentifier{Mountpoint: "/"},
		UsedBytes:  &runtimeapi.UInt64Value{Value: imageBytes},
		InodesUsed: &runtimeapi.UInt64Value{Value: 1},
	}}
	return &runtimeapi.ImageFsInfoResponse{ImageFilesystems: usage, ContainerFilesystems: usage}, nil
}
