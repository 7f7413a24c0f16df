package profile

// change is a row of the table of changes without a feature gate.
type change struct {
	name  string
	pulls []int // the pull requests of kubernetes/kubernetes that made or reverted the change, if known
	field func(*Changes) *bool
	since []span
}

// span is a range of releases: from the first one to the last one before another. An empty before
// means no end.
type span struct{ from, before string }

// changes are all changes without a feature gate, by name.
var changes = []change{
	{"ActuatedAtEachSync", []int{140387}, func(c *Changes) *bool {
		return &c.ActuatedAtEachSync
	}, []span{{from: "v1.37"}}},
	{"AddPodSkipsOnlyContainer", []int{138930}, func(c *Changes) *bool {
		return &c.AddPodSkipsOnlyContainer
	}, []span{{from: "v1.37"}}},
	{"AvailabilityChecksOnTime", []int{132121}, func(c *Changes) *bool {
		return &c.AvailabilityChecksOnTime
	}, []span{{from: "v1.34"}}},
	{"EachUpdateRetriesResizes", nil, func(c *Changes) *bool {
		return &c.EachUpdateRetriesResizes
	}, []span{{from: "v1.38"}}},
	{"EndpointsFollowPhase", nil, func(c *Changes) *bool {
		return &c.EndpointsFollowPhase
	}, []span{{from: "v1.38"}}},
	{"FailureIsKept", []int{142761}, func(c *Changes) *bool {
		return &c.FailureIsKept
	}, []span{{from: "v1.38"}}},
	{"GRPCConnectsOnce", []int{142457}, func(c *Changes) *bool {
		return &c.GRPCConnectsOnce
	}, []span{{from: "v1.38"}}},
	{"InitializedBySandbox", []int{138514}, func(c *Changes) *bool {
		return &c.InitializedBySandbox
	}, []span{{from: "v1.37"}}},
	{"InspectReadsResources", []int{132873}, func(c *Changes) *bool {
		return &c.InspectReadsResources
	}, []span{{from: "v1.35"}}},
	{"InspectUsesListing", []int{137471}, func(c *Changes) *bool {
		return &c.InspectUsesListing
	}, []span{{from: "v1.36"}}},
	{"KillsAtOnce", nil, func(c *Changes) *bool {
		return &c.KillsAtOnce
	}, []span{{from: "v1.38"}}},
	{"ManualTrigger", []int{98376, 101738}, func(c *Changes) *bool {
		return &c.ManualTrigger
	}, []span{{from: "v1.21"}}},
	{"ManualTriggerResetsTicker", []int{119089}, func(c *Changes) *bool {
		return &c.ManualTriggerResetsTicker
	}, []span{{from: "v1.32"}}},
	{"PodLimitsOfAll", []int{141014}, func(c *Changes) *bool {
		return &c.PodLimitsOfAll
	}, []span{{from: "v1.38"}}},
	{"PodMemoryRequestFollows", []int{140646}, func(c *Changes) *bool {
		return &c.PodMemoryRequestFollows
	}, []span{{from: "v1.37"}}},
	{"PodReadyToStartAtSandbox", []int{134660}, func(c *Changes) *bool {
		return &c.PodReadyToStartAtSandbox
	}, []span{{from: "v1.36"}}},
	{"ProbeStateOfInstance", []int{141487}, func(c *Changes) *bool {
		return &c.ProbeStateOfInstance
	}, []span{{from: "v1.38"}}},
	{"ProxyWithoutBurst", []int{131615}, func(c *Changes) *bool {
		return &c.ProxyWithoutBurst
	}, []span{{from: "v1.34"}}},
	{"RecreateSyncsOnEachDeletion", []int{136639}, func(c *Changes) *bool {
		return &c.RecreateSyncsOnEachDeletion
	}, []span{{from: "v1.37"}}},
	{"ReinspectionEventAlone", []int{137363}, func(c *Changes) *bool {
		return &c.ReinspectionEventAlone
	}, []span{{from: "v1.36"}}},
	{"RequestsInUseOfPod", []int{140047}, func(c *Changes) *bool {
		return &c.RequestsInUseOfPod
	}, []span{{from: "v1.37"}}},
	{"RequeueAtBackOffExpiry", []int{133066}, func(c *Changes) *bool {
		return &c.RequeueAtBackOffExpiry
	}, []span{{from: "v1.35"}}},
	{"ResizeEvents", []int{134825}, func(c *Changes) *bool { return &c.ResizeEvents }, []span{{from: "v1.35"}}},
	{"ResizeReasonOfAdmission", []int{133427}, func(c *Changes) *bool {
		return &c.ResizeReasonOfAdmission
	}, []span{{from: "v1.36"}}},
	{"ResizesAreQueued", []int{131612, 131681}, func(c *Changes) *bool {
		return &c.ResizesAreQueued
	}, []span{{from: "v1.34"}}},
	{"ResizesRetriedWhenPodsEnd", []int{136231}, func(c *Changes) *bool {
		return &c.ResizesRetriedWhenPodsEnd
	}, []span{{from: "v1.36"}}},
	{"ResizesWithStarts", []int{140387}, func(c *Changes) *bool {
		return &c.ResizesWithStarts
	}, []span{{from: "v1.36.4"}}},
	{"SandboxReasonInCondition", []int{135300}, func(c *Changes) *bool {
		return &c.SandboxReasonInCondition
	}, []span{{from: "v1.37"}}},
	{"SandboxesByAttempt", []int{130551}, func(c *Changes) *bool {
		return &c.SandboxesByAttempt
	}, []span{{from: "v1.35"}}},
	{"ScaleDownErrorsAreRetried", []int{142650, 142902}, func(c *Changes) *bool {
		return &c.ScaleDownErrorsAreRetried
	}, []span{{from: "v1.38"}}},
	{"ShortContainerEvents", []int{134043}, func(c *Changes) *bool {
		return &c.ShortContainerEvents
	}, []span{{from: "v1.35"}}},
	{"StartedOfInstance", []int{141342}, func(c *Changes) *bool {
		return &c.StartedOfInstance
	}, []span{{from: "v1.38"}}},
	{"StartupOnHoldAfterSuccess", []int{121206}, func(c *Changes) *bool {
		return &c.StartupOnHoldAfterSuccess
	}, []span{{from: "v1.32"}}},
	{
		"TerminationCancelsProbes", []int{130487, 140509, 140882},
		func(c *Changes) *bool { return &c.TerminationCancelsProbes },
		[]span{{"v1.35", "v1.36"}, {"v1.36.3", "v1.37"}},
	},
	{"TerminationEndsResizes", nil, func(c *Changes) *bool {
		return &c.TerminationEndsResizes
	}, []span{{from: "v1.38"}}},
	{"TerminationStopsSidecarProbes", []int{141766}, func(c *Changes) *bool {
		return &c.TerminationStopsSidecarProbes
	}, []span{{from: "v1.38"}}},
	{"UnknownPortNotFound", []int{139791}, func(c *Changes) *bool {
		return &c.UnknownPortNotFound
	}, []span{{from: "v1.37"}}},
	{"UnknownStateInErrorEvent", []int{125901}, func(c *Changes) *bool {
		return &c.UnknownStateInErrorEvent
	}, []span{{from: "v1.33"}}},
	{"UpdateNeedsAdmission", []int{139522}, func(c *Changes) *bool {
		return &c.UpdateNeedsAdmission
	}, []span{{from: "v1.37"}}},
}

// in reports whether a release behaves as the change says.
func (c *change) in(v release) bool {
	for _, s := range c.since {
		if v.atLeast(s.from) && (s.before == "" || !v.atLeast(s.before)) {
			return true
		}
	}
	return false
}
