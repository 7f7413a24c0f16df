package realkubelet

import (
	"context"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"probesim.dev/conformance/kubeletapi"
	"probesim.dev/fakeruntime"
)

// imageServer has every image. The name of an image is also its ID.
type imageServer struct {
	runtimeapi.UnimplementedImageServiceServer
	driver  *connection
	workers *workers
}

const (
	imageBytes = fakeruntime.ImageSize
	imageUser  = 1000 // of every image; not root, so runAsNonRoot works
)

func (i *imageServer) ImageStatus(ctx context.Context,
	q *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	op := i.driver.call(ctx, fakeruntime.Call{
		Method: fakeruntime.ImageStatus, Image: q.Image.GetImage(), PodUID: i.workers.pod(),
	})
	if op.Err != nil || op.ID == "" {
		return &runtimeapi.ImageStatusResponse{}, op.Err
	}
	return &runtimeapi.ImageStatusResponse{Image: kubeletapi.ImageOfSize(imageBytes, &runtimeapi.Image{
		Id: op.ID, RepoTags: []string{q.Image.Image}, Spec: q.Image, Uid: &runtimeapi.Int64Value{Value: imageUser},
	})}, nil
}

func (i *imageServer) PullImage(ctx context.Context,
	q *runtimeapi.PullImageRequest) (*runtimeapi.PullImageResponse, error) {
	op := i.driver.call(ctx, fakeruntime.Call{
		Method: fakeruntime.PullImage, Image: q.Image.GetImage(), PodUID: q.SandboxConfig.GetMetadata().GetUid(),
	})
	return &runtimeapi.PullImageResponse{ImageRef: op.ID}, op.Err
}

func (i *imageServer) ListImages(ctx context.Context,
	_ *runtimeapi.ListImagesRequest) (*runtimeapi.ListImagesResponse, error) {
	return &runtimeapi.ListImagesResponse{}, i.driver.call(ctx, fakeruntime.Call{Method: fakeruntime.ListImages}).Err
}

func (i *imageServer) ImageFsInfo(context.Context,
	*runtimeapi.ImageFsInfoRequest) (*runtimeapi.ImageFsInfoResponse, error) {
	usage := []*runtimeapi.FilesystemUsage{{
		Timestamp:  time.Now().UnixNano(),
		FsId:       &runtimeapi.FilesystemIdentifier{Mountpoint: "/"},
		UsedBytes:  &runtimeapi.UInt64Value{Value: imageBytes},
		InodesUsed: &runtimeapi.UInt64Value{Value: 1},
	}}
	return &runtimeapi.ImageFsInfoResponse{ImageFilesystems: usage, ContainerFilesystems: usage}, nil
}
