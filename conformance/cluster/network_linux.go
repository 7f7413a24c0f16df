package main

import (
	"net"
	"os"

	"github.com/vishvananda/netlink"
)

// network gives the node its address. Its device is one end of a pair whose other end nobody reads.
func network() error {
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	device := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}, PeerName: "nowhere"}
	if err := netlink.LinkAdd(device); err != nil {
		return err
	}
	peer, err := netlink.LinkByName(device.PeerName)
	if err != nil {
		return err
	}
	address := &net.IPNet{IP: net.ParseIP(nodeAddress), Mask: net.CIDRMask(24, 32)}
	if err := netlink.AddrAdd(device, &netlink.Addr{IPNet: address}); err != nil {
		return err
	}
	for _, link := range []netlink.Link{loopback, device, peer} {
		if err := netlink.LinkSetUp(link); err != nil {
			return err
		}
	}
	route := &netlink.Route{LinkIndex: device.Attrs().Index, Gw: net.ParseIP(gateway)}
	if err := netlink.RouteAdd(route); err != nil {
		return err
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}
