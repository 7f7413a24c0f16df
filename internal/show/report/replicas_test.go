package report

import "testing"

func TestNamesOf(t *testing.T) {
	for _, test := range []struct {
		pods []string
		want string
	}{
		{[]string{"default/web-2"}, "web-2"},
		{[]string{"default/web-0", "default/web-1", "default/web-10", "default/web-2"}, "web-0..2, 10"},
		{[]string{"default/db", "default/web-0", "default/web-1", "shop/web-0"}, "db, web-0..1, shop/web-0"},
		{[]string{"default/web-", "default/web-01", "default/7", "default/a-99999999999999999999"},
			"web-, web-01, 7, a-99999999999999999999"},
		{[]string{"default/web-\x1b-3"}, `web-\x1b-3`},
		{nil, ""},
	} {
		if got := namesOf(test.pods); got != test.want {
			t.Errorf("%q is %q, want %q", test.pods, got, test.want)
		}
	}
}
