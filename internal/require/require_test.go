package require

import (
	"strings"
	"testing"
)

// TestParse checks lists of requirements, and how they are written again.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"start>=70s":                      "start>=1m10s",
		" app / detect<= 45s,ready<=1m":   "app/detect<=45s, ready<=1m",
		"lost<=0, replicas>=3, takes<=5m": "lost<=0, replicas>=3, takes<=5m",
		"prestop<=1m30s":                  "prestop<=1m30s",
		"stall>=15s, app/stall>=20s":      "stall>=15s, app/stall>=20s",
		"start":                           `error: "start" is no requirement: write a word, >= or <=, and a limit`,
		"start>=70s, start>=80s, stall<=1s": "error: start is required twice; stall takes >=, because a container " +
			"survives a stall of this length",
		"/start>=3s": "error: the name of a container is missing before /start",
		"ready>=3": "error: ready takes <=, because a container that is up becomes ready " +
			"within this time: write replicas>=3",
		"app/lost<=0": "error: lost is about a rollout, and not about a container: leave " +
			"app/ out",
		"lost<=-1":   `error: lost: "-1" is no whole number`,
		"lost<=1e99": `error: lost: "1e99" is no whole number`,
		"start>=7h": "error: start: must be at most 6h, because a longer time counts as no " +
			"limit",
		"starts>=7s": `error: "starts" is no word for requirements (did you mean "start"?)`,
		"start=>7s":  "error: start takes >=",
		"":           `error: "" is no requirement`,
	} {
		list, err := Parse(text)
		got := strings.Join(Texts(list), ", ")
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want && !(err != nil && strings.HasPrefix(got, want)) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestMet checks that each word compares in its direction.
func TestMet(t *testing.T) {
	list, err := Parse("start>=70s, detect<=45s, lost<=1, replicas>=3")
	if err != nil {
		t.Fatal(err)
	}
	for i, figures := range [][2]float64{{70, 69.9}, {45, 45.1}, {1, 2}, {3, 2}} {
		if !list[i].Met(figures[0]) || list[i].Met(figures[1]) {
			t.Errorf("%s: %g meets it: %t, and %g: %t", list[i], figures[0], list[i].Met(figures[0]), figures[1],
				list[i].Met(figures[1]))
		}
	}
	if containers, rollouts := Split(list); len(containers) != 2 || len(rollouts) != 2 {
		t.Errorf("the requirements are split into %v and %v", containers, rollouts)
	}
}
