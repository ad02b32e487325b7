"""Public addresses: those that may be called without being allow-listed.

A message to an address inside would let whoever makes subscriptions reach what only this
machine reaches: its own ports, the cluster, the cloud's metadata. IPv6 is taken by what is
allowed (global unicast) and not by what is refused, and an IPv4 address inside an IPv6
one (mapped, NAT64, 6to4, ISATAP) is judged as what it is.

Source: IANA IPv4 and IPv6 Special-Purpose Address Registries.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

__all__ = ["Address", "address_of", "is_public"]

Address = IPv4Address | IPv6Address

_NOT_PUBLIC_V4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network, unspecified
            "10.0.0.0/8",
            "100.64.0.0/10",  # carrier-grade NAT; metadata of Alibaba Cloud
            "127.0.0.0/8",
            "168.63.129.16/32",  # Azure's host: public by number, inside by place
            "169.254.0.0/16",  # link-local; metadata of most clouds
            "172.16.0.0/12",
            "192.0.0.0/24",  # protocol assignments; metadata of Oracle Cloud
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # 6to4 relays, withdrawn
            "192.168.0.0/16",
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, broadcast
        ),
    )
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NOT_PUBLIC_V6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarks
            "2001:db8::/32",  # documentation
            "3ffe::/16",  # the 6bone, withdrawn
            "3fff::/20",  # documentation
        ),
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
_6TO4 = IPv6Network("2002::/16")
_ISATAP = frozenset({0x0000_5EFE, 0x0200_5EFE})
_LOW_32 = 0xFFFF_FFFF


def address_of(text: str) -> Address:
    """The answer of a resolver as an address; a mapped IPv4 address becomes an IPv4 one.

    Raises ``ValueError`` when it is none.
    """
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def is_public(address: Address) -> bool:
    """Whether ``address`` is one of the internet, and every address inside it is too."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_V4)
    if address.ipv4_mapped is not None:
        return is_public(address.ipv4_mapped)
    if address in _NAT64:
        return is_public(IPv4Address(int(address) & _LOW_32))
    if address not in _GLOBAL_UNICAST or any(address in network for network in _NOT_PUBLIC_V6):
        return False
    if address in _6TO4:
        return is_public(IPv4Address(int(address) >> 80 & _LOW_32))
    if int(address) >> 32 & _LOW_32 in _ISATAP:
        return is_public(IPv4Address(int(address) & _LOW_32))
    return True
