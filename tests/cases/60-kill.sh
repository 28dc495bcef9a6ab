#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A sample of the kill test that takes a minute or two; make check-kill N=… for as much as one likes.
# timeout: 900
N=40 KINDS='ppoll futex_rel epoll_pwait inline' exec bash "$TOP/tests/kill/kill.sh"
