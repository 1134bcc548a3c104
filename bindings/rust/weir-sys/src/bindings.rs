// SPDX-License-Identifier: Apache-2.0
// Written by weir-bindgen from include/weir/*.h: do not edit.

pub const WEIR_ERROR_MESSAGE_BYTES: u32 = 512;
pub const WEIR_ASK_BYTES: u32 = 1024;
pub const ARROW_FLAG_DICTIONARY_ORDERED: u32 = 1;
pub const ARROW_FLAG_NULLABLE: u32 = 2;
pub const ARROW_FLAG_MAP_KEYS_SORTED: u32 = 4;
pub const WEIR_OK: weir_err = 0;
pub const WEIR_AGAIN: weir_err = 1;
pub const WEIR_DONE: weir_err = 2;
pub const WEIR_HELD: weir_err = 3;
pub const WEIR_ERR_ARG: weir_err = -1;
pub const WEIR_ERR_SCHEMA: weir_err = -2;
pub const WEIR_ERR_NOT_FOUND: weir_err = -3;
pub const WEIR_ERR_DUPLICATE: weir_err = -4;
pub const WEIR_ERR_BUDGET: weir_err = -5;
pub const WEIR_ERR_NO_MEMORY: weir_err = -6;
pub const WEIR_ERR_SYSTEM: weir_err = -7;
pub const WEIR_ERR_STATE: weir_err = -8;
pub const WEIR_ERR_TIMEOUT: weir_err = -9;
pub const WEIR_ERR_UNSUPPORTED: weir_err = -10;
pub const WEIR_ERR_DATA: weir_err = -11;
pub const WEIR_ERR_CANCELLED: weir_err = -100;
pub const WEIR_ERR_DEADLINE: weir_err = -101;
pub const WEIR_ERR_ABORTED: weir_err = -102;
pub const WEIR_ERR_MISMATCH: weir_err = -103;
pub const WEIR_ERR_INTEGRITY: weir_err = -104;
pub const WEIR_ERR_QUERY_MEMORY: weir_err = -105;
pub const WEIR_ERR_QUERY_DATA: weir_err = -106;
pub const WEIR_ERR_PEER_LOST: weir_err = -200;
pub const WEIR_ERR_PEER_PROTOCOL: weir_err = -201;
pub const WEIR_ERR_PEER_VERSION: weir_err = -202;
pub const WEIR_ERR_PEER_REFUSED: weir_err = -203;
pub const WEIR_ERR_NODE: weir_err = -300;
pub type weir_err = ::core::ffi::c_int;
pub const WEIR_SCOPE_NONE: weir_scope = 0;
pub const WEIR_SCOPE_CALL: weir_scope = 1;
pub const WEIR_SCOPE_QUERY: weir_scope = 2;
pub const WEIR_SCOPE_PEER: weir_scope = 3;
pub const WEIR_SCOPE_NODE: weir_scope = 4;
pub type weir_scope = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_error {
    pub code: weir_err,
    pub message: [::core::ffi::c_char; 512usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of weir_error"][::core::mem::size_of::<weir_error>() - 516usize];
    ["Alignment of weir_error"][::core::mem::align_of::<weir_error>() - 4usize];
    [
        "Offset of field: weir_error::code",
    ][::core::mem::offset_of!(weir_error, code) - 0usize];
    [
        "Offset of field: weir_error::message",
    ][::core::mem::offset_of!(weir_error, message) - 4usize];
};
impl Default for weir_error {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn weir_err_name(code: weir_err) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn weir_err_text(code: weir_err) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn weir_err_scope(code: weir_err) -> weir_scope;
}
#[repr(C)]
#[derive(Debug)]
pub struct weir_node {
    _unused: [u8; 0],
}
pub const WEIR_LOG_ERROR: weir_log_level = 0;
pub const WEIR_LOG_WARN: weir_log_level = 1;
pub const WEIR_LOG_INFO: weir_log_level = 2;
pub const WEIR_LOG_DEBUG: weir_log_level = 3;
pub type weir_log_level = ::core::ffi::c_uint;
pub type weir_log_fn = ::core::option::Option<
    unsafe extern "C" fn(
        arg: *mut ::core::ffi::c_void,
        level: weir_log_level,
        line: *const ::core::ffi::c_char,
    ),
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_node_params {
    pub name: *const ::core::ffi::c_char,
    pub transport: *const ::core::ffi::c_char,
    pub listen: *const ::core::ffi::c_char,
    pub workers: u32,
    pub max_members: u32,
    pub max_shuffles: u32,
    pub frame_bytes: u32,
    pub ring_frames: u32,
    pub memory_bytes: u64,
    pub max_row_bytes: u64,
    pub detect_ns: u64,
    pub connect_ns: u64,
    pub idle_close_ns: u64,
    pub no_checksum: ::core::ffi::c_int,
    pub trust_batches: ::core::ffi::c_int,
    pub manual: ::core::ffi::c_int,
    pub log_level: weir_log_level,
    pub log: weir_log_fn,
    pub log_arg: *mut ::core::ffi::c_void,
    pub transport_arg: *mut ::core::ffi::c_void,
    pub stall_ns: u64,
    pub advertise: *const ::core::ffi::c_char,
    pub max_peers: u64,
    pub secret_file: *const ::core::ffi::c_char,
    pub identity: *const weir_identity,
    pub reserved: [u64; 3usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of weir_node_params"][::core::mem::size_of::<weir_node_params>() - 192usize];
    [
        "Alignment of weir_node_params",
    ][::core::mem::align_of::<weir_node_params>() - 8usize];
    [
        "Offset of field: weir_node_params::name",
    ][::core::mem::offset_of!(weir_node_params, name) - 0usize];
    [
        "Offset of field: weir_node_params::transport",
    ][::core::mem::offset_of!(weir_node_params, transport) - 8usize];
    [
        "Offset of field: weir_node_params::listen",
    ][::core::mem::offset_of!(weir_node_params, listen) - 16usize];
    [
        "Offset of field: weir_node_params::workers",
    ][::core::mem::offset_of!(weir_node_params, workers) - 24usize];
    [
        "Offset of field: weir_node_params::max_members",
    ][::core::mem::offset_of!(weir_node_params, max_members) - 28usize];
    [
        "Offset of field: weir_node_params::max_shuffles",
    ][::core::mem::offset_of!(weir_node_params, max_shuffles) - 32usize];
    [
        "Offset of field: weir_node_params::frame_bytes",
    ][::core::mem::offset_of!(weir_node_params, frame_bytes) - 36usize];
    [
        "Offset of field: weir_node_params::ring_frames",
    ][::core::mem::offset_of!(weir_node_params, ring_frames) - 40usize];
    [
        "Offset of field: weir_node_params::memory_bytes",
    ][::core::mem::offset_of!(weir_node_params, memory_bytes) - 48usize];
    [
        "Offset of field: weir_node_params::max_row_bytes",
    ][::core::mem::offset_of!(weir_node_params, max_row_bytes) - 56usize];
    [
        "Offset of field: weir_node_params::detect_ns",
    ][::core::mem::offset_of!(weir_node_params, detect_ns) - 64usize];
    [
        "Offset of field: weir_node_params::connect_ns",
    ][::core::mem::offset_of!(weir_node_params, connect_ns) - 72usize];
    [
        "Offset of field: weir_node_params::idle_close_ns",
    ][::core::mem::offset_of!(weir_node_params, idle_close_ns) - 80usize];
    [
        "Offset of field: weir_node_params::no_checksum",
    ][::core::mem::offset_of!(weir_node_params, no_checksum) - 88usize];
    [
        "Offset of field: weir_node_params::trust_batches",
    ][::core::mem::offset_of!(weir_node_params, trust_batches) - 92usize];
    [
        "Offset of field: weir_node_params::manual",
    ][::core::mem::offset_of!(weir_node_params, manual) - 96usize];
    [
        "Offset of field: weir_node_params::log_level",
    ][::core::mem::offset_of!(weir_node_params, log_level) - 100usize];
    [
        "Offset of field: weir_node_params::log",
    ][::core::mem::offset_of!(weir_node_params, log) - 104usize];
    [
        "Offset of field: weir_node_params::log_arg",
    ][::core::mem::offset_of!(weir_node_params, log_arg) - 112usize];
    [
        "Offset of field: weir_node_params::transport_arg",
    ][::core::mem::offset_of!(weir_node_params, transport_arg) - 120usize];
    [
        "Offset of field: weir_node_params::stall_ns",
    ][::core::mem::offset_of!(weir_node_params, stall_ns) - 128usize];
    [
        "Offset of field: weir_node_params::advertise",
    ][::core::mem::offset_of!(weir_node_params, advertise) - 136usize];
    [
        "Offset of field: weir_node_params::max_peers",
    ][::core::mem::offset_of!(weir_node_params, max_peers) - 144usize];
    [
        "Offset of field: weir_node_params::secret_file",
    ][::core::mem::offset_of!(weir_node_params, secret_file) - 152usize];
    [
        "Offset of field: weir_node_params::identity",
    ][::core::mem::offset_of!(weir_node_params, identity) - 160usize];
    [
        "Offset of field: weir_node_params::reserved",
    ][::core::mem::offset_of!(weir_node_params, reserved) - 168usize];
};
impl Default for weir_node_params {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_member {
    pub name: *const ::core::ffi::c_char,
    pub address: *const ::core::ffi::c_char,
    pub workers: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of weir_member"][::core::mem::size_of::<weir_member>() - 24usize];
    ["Alignment of weir_member"][::core::mem::align_of::<weir_member>() - 8usize];
    [
        "Offset of field: weir_member::name",
    ][::core::mem::offset_of!(weir_member, name) - 0usize];
    [
        "Offset of field: weir_member::address",
    ][::core::mem::offset_of!(weir_member, address) - 8usize];
    [
        "Offset of field: weir_member::workers",
    ][::core::mem::offset_of!(weir_member, workers) - 16usize];
};
impl Default for weir_member {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn weir_node_open(
        params: *const weir_node_params,
        node_out: *mut *mut weir_node,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_node_close(node: *mut weir_node);
}
unsafe extern "C" {
    pub fn weir_node_address(node: *const weir_node) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn weir_node_name(node: *const weir_node) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn weir_node_plan(node: *const weir_node) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn weir_node_join(
        node: *mut weir_node,
        members: *const weir_member,
        n: u32,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_node_join_seed(
        node: *mut weir_node,
        seed_address: *const ::core::ffi::c_char,
        n_members: u32,
        timeout_ns: u64,
        err: *mut weir_error,
    ) -> weir_err;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_seed {
    pub address: *const ::core::ffi::c_char,
    pub server_name: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of weir_seed"][::core::mem::size_of::<weir_seed>() - 16usize];
    ["Alignment of weir_seed"][::core::mem::align_of::<weir_seed>() - 8usize];
    [
        "Offset of field: weir_seed::address",
    ][::core::mem::offset_of!(weir_seed, address) - 0usize];
    [
        "Offset of field: weir_seed::server_name",
    ][::core::mem::offset_of!(weir_seed, server_name) - 8usize];
};
impl Default for weir_seed {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn weir_node_join_seed_named(
        node: *mut weir_node,
        seed: *const weir_seed,
        n_members: u32,
        timeout_ns: u64,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_node_add_member(
        node: *mut weir_node,
        idx: u32,
        member: *const weir_member,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_node_remove_member(
        node: *mut weir_node,
        idx: u32,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_node_members(node: *const weir_node) -> u32;
}
unsafe extern "C" {
    pub fn weir_node_self(node: *const weir_node) -> u32;
}
unsafe extern "C" {
    pub fn weir_node_member(
        node: *const weir_node,
        idx: u32,
        member_out: *mut weir_member,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_worker_wait(
        node: *mut weir_node,
        worker: u32,
        timeout_ns: u64,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_worker_wake(node: *mut weir_node, worker: u32) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_worker_fd(node: *mut weir_node, worker: u32) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn weir_worker_arm(node: *mut weir_node, worker: u32) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_node_step(
        node: *mut weir_node,
        now_ns: u64,
        next_ns_out: *mut u64,
    ) -> weir_err;
}
#[repr(C)]
#[derive(Debug)]
pub struct weir_region {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct weir_name {
    pub space: u64,
    pub id: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of weir_name"][::core::mem::size_of::<weir_name>() - 16usize];
    ["Alignment of weir_name"][::core::mem::align_of::<weir_name>() - 8usize];
    [
        "Offset of field: weir_name::space",
    ][::core::mem::offset_of!(weir_name, space) - 0usize];
    ["Offset of field: weir_name::id"][::core::mem::offset_of!(weir_name, id) - 8usize];
};
pub const WEIR_REGION_NEW: weir_region_kind = 0;
pub const WEIR_REGION_FILE: weir_region_kind = 1;
pub const WEIR_REGION_BORROWED: weir_region_kind = 2;
pub type weir_region_kind = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_region_params {
    pub kind: weir_region_kind,
    pub fd: ::core::ffi::c_int,
    pub off: u64,
    pub bytes: u64,
    pub base: *mut ::core::ffi::c_void,
    pub release: ::core::option::Option<
        unsafe extern "C" fn(arg: *mut ::core::ffi::c_void),
    >,
    pub release_arg: *mut ::core::ffi::c_void,
    pub writable: ::core::ffi::c_int,
    pub constant: ::core::ffi::c_int,
    pub reserved: [u64; 4usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of weir_region_params",
    ][::core::mem::size_of::<weir_region_params>() - 88usize];
    [
        "Alignment of weir_region_params",
    ][::core::mem::align_of::<weir_region_params>() - 8usize];
    [
        "Offset of field: weir_region_params::kind",
    ][::core::mem::offset_of!(weir_region_params, kind) - 0usize];
    [
        "Offset of field: weir_region_params::fd",
    ][::core::mem::offset_of!(weir_region_params, fd) - 4usize];
    [
        "Offset of field: weir_region_params::off",
    ][::core::mem::offset_of!(weir_region_params, off) - 8usize];
    [
        "Offset of field: weir_region_params::bytes",
    ][::core::mem::offset_of!(weir_region_params, bytes) - 16usize];
    [
        "Offset of field: weir_region_params::base",
    ][::core::mem::offset_of!(weir_region_params, base) - 24usize];
    [
        "Offset of field: weir_region_params::release",
    ][::core::mem::offset_of!(weir_region_params, release) - 32usize];
    [
        "Offset of field: weir_region_params::release_arg",
    ][::core::mem::offset_of!(weir_region_params, release_arg) - 40usize];
    [
        "Offset of field: weir_region_params::writable",
    ][::core::mem::offset_of!(weir_region_params, writable) - 48usize];
    [
        "Offset of field: weir_region_params::constant",
    ][::core::mem::offset_of!(weir_region_params, constant) - 52usize];
    [
        "Offset of field: weir_region_params::reserved",
    ][::core::mem::offset_of!(weir_region_params, reserved) - 56usize];
};
impl Default for weir_region_params {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn weir_region_open(
        node: *mut weir_node,
        params: *const weir_region_params,
        region_out: *mut *mut weir_region,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_region_publish(
        region: *mut weir_region,
        name: *const weir_name,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_region_base(region: *const weir_region) -> *mut ::core::ffi::c_void;
}
unsafe extern "C" {
    pub fn weir_region_bytes(region: *const weir_region) -> u64;
}
unsafe extern "C" {
    pub fn weir_region_close(region: *mut weir_region);
}
#[repr(C)]
#[derive(Debug)]
pub struct weir_asks {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_ask {
    pub name: weir_name,
    pub bytes: *const ::core::ffi::c_void,
    pub len: u32,
    pub wants_region: ::core::ffi::c_int,
    pub peer: *const ::core::ffi::c_char,
    pub peer_incarnation: u64,
    pub id: u64,
    pub asks: *mut weir_asks,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of weir_ask"][::core::mem::size_of::<weir_ask>() - 64usize];
    ["Alignment of weir_ask"][::core::mem::align_of::<weir_ask>() - 8usize];
    [
        "Offset of field: weir_ask::name",
    ][::core::mem::offset_of!(weir_ask, name) - 0usize];
    [
        "Offset of field: weir_ask::bytes",
    ][::core::mem::offset_of!(weir_ask, bytes) - 16usize];
    ["Offset of field: weir_ask::len"][::core::mem::offset_of!(weir_ask, len) - 24usize];
    [
        "Offset of field: weir_ask::wants_region",
    ][::core::mem::offset_of!(weir_ask, wants_region) - 28usize];
    [
        "Offset of field: weir_ask::peer",
    ][::core::mem::offset_of!(weir_ask, peer) - 32usize];
    [
        "Offset of field: weir_ask::peer_incarnation",
    ][::core::mem::offset_of!(weir_ask, peer_incarnation) - 40usize];
    ["Offset of field: weir_ask::id"][::core::mem::offset_of!(weir_ask, id) - 48usize];
    [
        "Offset of field: weir_ask::asks",
    ][::core::mem::offset_of!(weir_ask, asks) - 56usize];
};
impl Default for weir_ask {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn weir_asks_open(
        node: *mut weir_node,
        space: u64,
        worker: u32,
        asks_out: *mut *mut weir_asks,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_asks_next(asks: *mut weir_asks, ask_out: *mut weir_ask) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_ask_answer(
        ask: *const weir_ask,
        code: weir_err,
        bytes: *const ::core::ffi::c_void,
        len: u32,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_ask_waits(ask: *const weir_ask) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn weir_asks_close(asks: *mut weir_asks);
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ArrowSchema {
    pub format: *const ::core::ffi::c_char,
    pub name: *const ::core::ffi::c_char,
    pub metadata: *const ::core::ffi::c_char,
    pub flags: i64,
    pub n_children: i64,
    pub children: *mut *mut ArrowSchema,
    pub dictionary: *mut ArrowSchema,
    pub release: ::core::option::Option<unsafe extern "C" fn(arg1: *mut ArrowSchema)>,
    pub private_data: *mut ::core::ffi::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ArrowSchema"][::core::mem::size_of::<ArrowSchema>() - 72usize];
    ["Alignment of ArrowSchema"][::core::mem::align_of::<ArrowSchema>() - 8usize];
    [
        "Offset of field: ArrowSchema::format",
    ][::core::mem::offset_of!(ArrowSchema, format) - 0usize];
    [
        "Offset of field: ArrowSchema::name",
    ][::core::mem::offset_of!(ArrowSchema, name) - 8usize];
    [
        "Offset of field: ArrowSchema::metadata",
    ][::core::mem::offset_of!(ArrowSchema, metadata) - 16usize];
    [
        "Offset of field: ArrowSchema::flags",
    ][::core::mem::offset_of!(ArrowSchema, flags) - 24usize];
    [
        "Offset of field: ArrowSchema::n_children",
    ][::core::mem::offset_of!(ArrowSchema, n_children) - 32usize];
    [
        "Offset of field: ArrowSchema::children",
    ][::core::mem::offset_of!(ArrowSchema, children) - 40usize];
    [
        "Offset of field: ArrowSchema::dictionary",
    ][::core::mem::offset_of!(ArrowSchema, dictionary) - 48usize];
    [
        "Offset of field: ArrowSchema::release",
    ][::core::mem::offset_of!(ArrowSchema, release) - 56usize];
    [
        "Offset of field: ArrowSchema::private_data",
    ][::core::mem::offset_of!(ArrowSchema, private_data) - 64usize];
};
impl Default for ArrowSchema {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ArrowArray {
    pub length: i64,
    pub null_count: i64,
    pub offset: i64,
    pub n_buffers: i64,
    pub n_children: i64,
    pub buffers: *mut *const ::core::ffi::c_void,
    pub children: *mut *mut ArrowArray,
    pub dictionary: *mut ArrowArray,
    pub release: ::core::option::Option<unsafe extern "C" fn(arg1: *mut ArrowArray)>,
    pub private_data: *mut ::core::ffi::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ArrowArray"][::core::mem::size_of::<ArrowArray>() - 80usize];
    ["Alignment of ArrowArray"][::core::mem::align_of::<ArrowArray>() - 8usize];
    [
        "Offset of field: ArrowArray::length",
    ][::core::mem::offset_of!(ArrowArray, length) - 0usize];
    [
        "Offset of field: ArrowArray::null_count",
    ][::core::mem::offset_of!(ArrowArray, null_count) - 8usize];
    [
        "Offset of field: ArrowArray::offset",
    ][::core::mem::offset_of!(ArrowArray, offset) - 16usize];
    [
        "Offset of field: ArrowArray::n_buffers",
    ][::core::mem::offset_of!(ArrowArray, n_buffers) - 24usize];
    [
        "Offset of field: ArrowArray::n_children",
    ][::core::mem::offset_of!(ArrowArray, n_children) - 32usize];
    [
        "Offset of field: ArrowArray::buffers",
    ][::core::mem::offset_of!(ArrowArray, buffers) - 40usize];
    [
        "Offset of field: ArrowArray::children",
    ][::core::mem::offset_of!(ArrowArray, children) - 48usize];
    [
        "Offset of field: ArrowArray::dictionary",
    ][::core::mem::offset_of!(ArrowArray, dictionary) - 56usize];
    [
        "Offset of field: ArrowArray::release",
    ][::core::mem::offset_of!(ArrowArray, release) - 64usize];
    [
        "Offset of field: ArrowArray::private_data",
    ][::core::mem::offset_of!(ArrowArray, private_data) - 72usize];
};
impl Default for ArrowArray {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ArrowArrayStream {
    pub get_schema: ::core::option::Option<
        unsafe extern "C" fn(
            arg1: *mut ArrowArrayStream,
            out: *mut ArrowSchema,
        ) -> ::core::ffi::c_int,
    >,
    pub get_next: ::core::option::Option<
        unsafe extern "C" fn(
            arg1: *mut ArrowArrayStream,
            out: *mut ArrowArray,
        ) -> ::core::ffi::c_int,
    >,
    pub get_last_error: ::core::option::Option<
        unsafe extern "C" fn(arg1: *mut ArrowArrayStream) -> *const ::core::ffi::c_char,
    >,
    pub release: ::core::option::Option<
        unsafe extern "C" fn(arg1: *mut ArrowArrayStream),
    >,
    pub private_data: *mut ::core::ffi::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of ArrowArrayStream"][::core::mem::size_of::<ArrowArrayStream>() - 40usize];
    [
        "Alignment of ArrowArrayStream",
    ][::core::mem::align_of::<ArrowArrayStream>() - 8usize];
    [
        "Offset of field: ArrowArrayStream::get_schema",
    ][::core::mem::offset_of!(ArrowArrayStream, get_schema) - 0usize];
    [
        "Offset of field: ArrowArrayStream::get_next",
    ][::core::mem::offset_of!(ArrowArrayStream, get_next) - 8usize];
    [
        "Offset of field: ArrowArrayStream::get_last_error",
    ][::core::mem::offset_of!(ArrowArrayStream, get_last_error) - 16usize];
    [
        "Offset of field: ArrowArrayStream::release",
    ][::core::mem::offset_of!(ArrowArrayStream, release) - 24usize];
    [
        "Offset of field: ArrowArrayStream::private_data",
    ][::core::mem::offset_of!(ArrowArrayStream, private_data) - 32usize];
};
impl Default for ArrowArrayStream {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_field {
    pub name: *const ::core::ffi::c_char,
    pub format: *const ::core::ffi::c_char,
    pub nullable: ::core::ffi::c_int,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of weir_field"][::core::mem::size_of::<weir_field>() - 24usize];
    ["Alignment of weir_field"][::core::mem::align_of::<weir_field>() - 8usize];
    [
        "Offset of field: weir_field::name",
    ][::core::mem::offset_of!(weir_field, name) - 0usize];
    [
        "Offset of field: weir_field::format",
    ][::core::mem::offset_of!(weir_field, format) - 8usize];
    [
        "Offset of field: weir_field::nullable",
    ][::core::mem::offset_of!(weir_field, nullable) - 16usize];
};
impl Default for weir_field {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn weir_schema_build(
        fields: *const weir_field,
        n_fields: u32,
        schema_out: *mut ArrowSchema,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_batch_detach(batch: *mut ArrowArray) -> weir_err;
}
#[repr(C)]
#[derive(Debug)]
pub struct weir_peer {
    _unused: [u8; 0],
}
unsafe extern "C" {
    pub fn weir_peer_open(
        node: *mut weir_node,
        address: *const ::core::ffi::c_char,
        peer_out: *mut *mut weir_peer,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_peer_open_named(
        node: *mut weir_node,
        address: *const ::core::ffi::c_char,
        server_name: *const ::core::ffi::c_char,
        peer_out: *mut *mut weir_peer,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_peer_close(peer: *mut weir_peer);
}
unsafe extern "C" {
    pub fn weir_peer_address(peer: *const weir_peer) -> *const ::core::ffi::c_char;
}
#[repr(C)]
#[derive(Debug)]
pub struct weir_fetch {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct weir_fetch_params {
    pub worker: u32,
    pub max_bytes: u64,
    pub timeout_ns: u64,
    pub reserved: [u64; 4usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of weir_fetch_params"][::core::mem::size_of::<weir_fetch_params>() - 56usize];
    [
        "Alignment of weir_fetch_params",
    ][::core::mem::align_of::<weir_fetch_params>() - 8usize];
    [
        "Offset of field: weir_fetch_params::worker",
    ][::core::mem::offset_of!(weir_fetch_params, worker) - 0usize];
    [
        "Offset of field: weir_fetch_params::max_bytes",
    ][::core::mem::offset_of!(weir_fetch_params, max_bytes) - 8usize];
    [
        "Offset of field: weir_fetch_params::timeout_ns",
    ][::core::mem::offset_of!(weir_fetch_params, timeout_ns) - 16usize];
    [
        "Offset of field: weir_fetch_params::reserved",
    ][::core::mem::offset_of!(weir_fetch_params, reserved) - 24usize];
};
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_get {
    pub name: weir_name,
    pub off: u64,
    pub bytes: u64,
    pub dst: *mut ::core::ffi::c_void,
    pub tag: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of weir_get"][::core::mem::size_of::<weir_get>() - 48usize];
    ["Alignment of weir_get"][::core::mem::align_of::<weir_get>() - 8usize];
    [
        "Offset of field: weir_get::name",
    ][::core::mem::offset_of!(weir_get, name) - 0usize];
    ["Offset of field: weir_get::off"][::core::mem::offset_of!(weir_get, off) - 16usize];
    [
        "Offset of field: weir_get::bytes",
    ][::core::mem::offset_of!(weir_get, bytes) - 24usize];
    ["Offset of field: weir_get::dst"][::core::mem::offset_of!(weir_get, dst) - 32usize];
    ["Offset of field: weir_get::tag"][::core::mem::offset_of!(weir_get, tag) - 40usize];
};
impl Default for weir_get {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_put {
    pub name: weir_name,
    pub off: u64,
    pub bytes: u64,
    pub src: *const ::core::ffi::c_void,
    pub tag: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of weir_put"][::core::mem::size_of::<weir_put>() - 48usize];
    ["Alignment of weir_put"][::core::mem::align_of::<weir_put>() - 8usize];
    [
        "Offset of field: weir_put::name",
    ][::core::mem::offset_of!(weir_put, name) - 0usize];
    ["Offset of field: weir_put::off"][::core::mem::offset_of!(weir_put, off) - 16usize];
    [
        "Offset of field: weir_put::bytes",
    ][::core::mem::offset_of!(weir_put, bytes) - 24usize];
    ["Offset of field: weir_put::src"][::core::mem::offset_of!(weir_put, src) - 32usize];
    ["Offset of field: weir_put::tag"][::core::mem::offset_of!(weir_put, tag) - 40usize];
};
impl Default for weir_put {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_got {
    pub tag: u64,
    pub code: weir_err,
    pub ptr: *const ::core::ffi::c_void,
    pub bytes: u64,
    pub region_bytes: u64,
    pub incarnation: u64,
    pub lent: u64,
    pub mapped: ::core::ffi::c_int,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of weir_got"][::core::mem::size_of::<weir_got>() - 64usize];
    ["Alignment of weir_got"][::core::mem::align_of::<weir_got>() - 8usize];
    ["Offset of field: weir_got::tag"][::core::mem::offset_of!(weir_got, tag) - 0usize];
    [
        "Offset of field: weir_got::code",
    ][::core::mem::offset_of!(weir_got, code) - 8usize];
    ["Offset of field: weir_got::ptr"][::core::mem::offset_of!(weir_got, ptr) - 16usize];
    [
        "Offset of field: weir_got::bytes",
    ][::core::mem::offset_of!(weir_got, bytes) - 24usize];
    [
        "Offset of field: weir_got::region_bytes",
    ][::core::mem::offset_of!(weir_got, region_bytes) - 32usize];
    [
        "Offset of field: weir_got::incarnation",
    ][::core::mem::offset_of!(weir_got, incarnation) - 40usize];
    [
        "Offset of field: weir_got::lent",
    ][::core::mem::offset_of!(weir_got, lent) - 48usize];
    [
        "Offset of field: weir_got::mapped",
    ][::core::mem::offset_of!(weir_got, mapped) - 56usize];
};
impl Default for weir_got {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn weir_fetch_open(
        node: *mut weir_node,
        params: *const weir_fetch_params,
        fetch_out: *mut *mut weir_fetch,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_fetch_get(
        fetch: *mut weir_fetch,
        peer: *mut weir_peer,
        gets: *const weir_get,
        n: u32,
        taken_out: *mut u32,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_fetch_put(
        fetch: *mut weir_fetch,
        peer: *mut weir_peer,
        puts: *const weir_put,
        n: u32,
        taken_out: *mut u32,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_fetch_ask(
        fetch: *mut weir_fetch,
        peer: *mut weir_peer,
        name: *const weir_name,
        bytes: *const ::core::ffi::c_void,
        len: u32,
        tag: u64,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_fetch_next(fetch: *mut weir_fetch, got_out: *mut weir_got) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_fetch_error(fetch: *const weir_fetch) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn weir_fetch_release(fetch: *mut weir_fetch, got: *const weir_got);
}
unsafe extern "C" {
    pub fn weir_fetch_close(fetch: *mut weir_fetch);
}
pub type weir_secret_fn = ::core::option::Option<
    unsafe extern "C" fn(
        arg: *mut ::core::ffi::c_void,
        which: u32,
        bytes: *mut ::core::ffi::c_void,
        room: u32,
    ) -> u32,
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_identity {
    pub secret: weir_secret_fn,
    pub secret_arg: *mut ::core::ffi::c_void,
    pub tls_cert_file: *const ::core::ffi::c_char,
    pub tls_key_file: *const ::core::ffi::c_char,
    pub tls_ca_file: *const ::core::ffi::c_char,
    pub tls_psk: ::core::ffi::c_int,
    pub plain: ::core::ffi::c_int,
    pub reserved: [u64; 6usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of weir_identity"][::core::mem::size_of::<weir_identity>() - 96usize];
    ["Alignment of weir_identity"][::core::mem::align_of::<weir_identity>() - 8usize];
    [
        "Offset of field: weir_identity::secret",
    ][::core::mem::offset_of!(weir_identity, secret) - 0usize];
    [
        "Offset of field: weir_identity::secret_arg",
    ][::core::mem::offset_of!(weir_identity, secret_arg) - 8usize];
    [
        "Offset of field: weir_identity::tls_cert_file",
    ][::core::mem::offset_of!(weir_identity, tls_cert_file) - 16usize];
    [
        "Offset of field: weir_identity::tls_key_file",
    ][::core::mem::offset_of!(weir_identity, tls_key_file) - 24usize];
    [
        "Offset of field: weir_identity::tls_ca_file",
    ][::core::mem::offset_of!(weir_identity, tls_ca_file) - 32usize];
    [
        "Offset of field: weir_identity::tls_psk",
    ][::core::mem::offset_of!(weir_identity, tls_psk) - 40usize];
    [
        "Offset of field: weir_identity::plain",
    ][::core::mem::offset_of!(weir_identity, plain) - 44usize];
    [
        "Offset of field: weir_identity::reserved",
    ][::core::mem::offset_of!(weir_identity, reserved) - 48usize];
};
impl Default for weir_identity {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn weir_node_renew_secret(
        node: *mut weir_node,
        err: *mut weir_error,
    ) -> weir_err;
}
#[repr(C)]
#[derive(Debug)]
pub struct weir_query {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_query_params {
    pub id: u64,
    pub members: *const u32,
    pub n_members: u32,
    pub deadline_ns: u64,
    pub reserved: [u64; 4usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of weir_query_params"][::core::mem::size_of::<weir_query_params>() - 64usize];
    [
        "Alignment of weir_query_params",
    ][::core::mem::align_of::<weir_query_params>() - 8usize];
    [
        "Offset of field: weir_query_params::id",
    ][::core::mem::offset_of!(weir_query_params, id) - 0usize];
    [
        "Offset of field: weir_query_params::members",
    ][::core::mem::offset_of!(weir_query_params, members) - 8usize];
    [
        "Offset of field: weir_query_params::n_members",
    ][::core::mem::offset_of!(weir_query_params, n_members) - 16usize];
    [
        "Offset of field: weir_query_params::deadline_ns",
    ][::core::mem::offset_of!(weir_query_params, deadline_ns) - 24usize];
    [
        "Offset of field: weir_query_params::reserved",
    ][::core::mem::offset_of!(weir_query_params, reserved) - 32usize];
};
impl Default for weir_query_params {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn weir_query_open(
        node: *mut weir_node,
        params: *const weir_query_params,
        query_out: *mut *mut weir_query,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_query_cancel(query: *mut weir_query, reason: *const ::core::ffi::c_char);
}
unsafe extern "C" {
    pub fn weir_query_fail(query: *mut weir_query, cause: *const weir_error) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_query_status(query: *mut weir_query, err: *mut weir_error) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_query_close(query: *mut weir_query);
}
#[repr(C)]
#[derive(Debug)]
pub struct weir_shuffle {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct weir_writer {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug)]
pub struct weir_reader {
    _unused: [u8; 0],
}
pub const WEIR_HASH: weir_partitioning = 0;
pub const WEIR_RANGE: weir_partitioning = 1;
pub const WEIR_ROUND_ROBIN: weir_partitioning = 2;
pub const WEIR_RANDOM: weir_partitioning = 3;
pub const WEIR_BROADCAST: weir_partitioning = 4;
pub const WEIR_GATHER: weir_partitioning = 5;
pub const WEIR_VECTOR: weir_partitioning = 6;
pub type weir_partitioning = ::core::ffi::c_uint;
pub const WEIR_TO_WORKER: weir_shuffle_to = 0;
pub const WEIR_TO_NODE: weir_shuffle_to = 1;
pub type weir_shuffle_to = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_shuffle_params {
    pub id: u32,
    pub schema: *const ArrowSchema,
    pub partitioning: weir_partitioning,
    pub keys: *const *const ::core::ffi::c_char,
    pub n_keys: u32,
    pub seed: u64,
    pub bounds: *const ArrowArray,
    pub producers: *const u32,
    pub n_producers: u32,
    pub consumers: *const u32,
    pub n_consumers: u32,
    pub producer_workers: u32,
    pub consumer_workers: u32,
    pub name: *const ::core::ffi::c_char,
    pub to: weir_shuffle_to,
    pub reserved_to: u32,
    pub reserved: [u64; 2usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of weir_shuffle_params",
    ][::core::mem::size_of::<weir_shuffle_params>() - 128usize];
    [
        "Alignment of weir_shuffle_params",
    ][::core::mem::align_of::<weir_shuffle_params>() - 8usize];
    [
        "Offset of field: weir_shuffle_params::id",
    ][::core::mem::offset_of!(weir_shuffle_params, id) - 0usize];
    [
        "Offset of field: weir_shuffle_params::schema",
    ][::core::mem::offset_of!(weir_shuffle_params, schema) - 8usize];
    [
        "Offset of field: weir_shuffle_params::partitioning",
    ][::core::mem::offset_of!(weir_shuffle_params, partitioning) - 16usize];
    [
        "Offset of field: weir_shuffle_params::keys",
    ][::core::mem::offset_of!(weir_shuffle_params, keys) - 24usize];
    [
        "Offset of field: weir_shuffle_params::n_keys",
    ][::core::mem::offset_of!(weir_shuffle_params, n_keys) - 32usize];
    [
        "Offset of field: weir_shuffle_params::seed",
    ][::core::mem::offset_of!(weir_shuffle_params, seed) - 40usize];
    [
        "Offset of field: weir_shuffle_params::bounds",
    ][::core::mem::offset_of!(weir_shuffle_params, bounds) - 48usize];
    [
        "Offset of field: weir_shuffle_params::producers",
    ][::core::mem::offset_of!(weir_shuffle_params, producers) - 56usize];
    [
        "Offset of field: weir_shuffle_params::n_producers",
    ][::core::mem::offset_of!(weir_shuffle_params, n_producers) - 64usize];
    [
        "Offset of field: weir_shuffle_params::consumers",
    ][::core::mem::offset_of!(weir_shuffle_params, consumers) - 72usize];
    [
        "Offset of field: weir_shuffle_params::n_consumers",
    ][::core::mem::offset_of!(weir_shuffle_params, n_consumers) - 80usize];
    [
        "Offset of field: weir_shuffle_params::producer_workers",
    ][::core::mem::offset_of!(weir_shuffle_params, producer_workers) - 84usize];
    [
        "Offset of field: weir_shuffle_params::consumer_workers",
    ][::core::mem::offset_of!(weir_shuffle_params, consumer_workers) - 88usize];
    [
        "Offset of field: weir_shuffle_params::name",
    ][::core::mem::offset_of!(weir_shuffle_params, name) - 96usize];
    [
        "Offset of field: weir_shuffle_params::to",
    ][::core::mem::offset_of!(weir_shuffle_params, to) - 104usize];
    [
        "Offset of field: weir_shuffle_params::reserved_to",
    ][::core::mem::offset_of!(weir_shuffle_params, reserved_to) - 108usize];
    [
        "Offset of field: weir_shuffle_params::reserved",
    ][::core::mem::offset_of!(weir_shuffle_params, reserved) - 112usize];
};
impl Default for weir_shuffle_params {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn weir_shuffle_open(
        query: *mut weir_query,
        params: *const weir_shuffle_params,
        shuffle_out: *mut *mut weir_shuffle,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_shuffle_destinations(shuffle: *const weir_shuffle) -> u32;
}
unsafe extern "C" {
    pub fn weir_writer_open(
        shuffle: *mut weir_shuffle,
        worker: u32,
        writer_out: *mut *mut weir_writer,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_writer_push(
        writer: *mut weir_writer,
        batch: *const ArrowArray,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_writer_push_to(
        writer: *mut weir_writer,
        batch: *const ArrowArray,
        dest: *const u32,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_writer_push_wait(
        writer: *mut weir_writer,
        batch: *const ArrowArray,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_writer_poll(writer: *mut weir_writer) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_writer_flush(writer: *mut weir_writer) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_writer_finish(writer: *mut weir_writer) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_writer_finish_wait(writer: *mut weir_writer) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_writer_error(
        writer: *const weir_writer,
        err: *mut weir_error,
    ) -> weir_err;
}
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct weir_edge_stats {
    pub rows: u64,
    pub bytes: u64,
    pub frames: u64,
    pub filtered: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of weir_edge_stats"][::core::mem::size_of::<weir_edge_stats>() - 32usize];
    [
        "Alignment of weir_edge_stats",
    ][::core::mem::align_of::<weir_edge_stats>() - 8usize];
    [
        "Offset of field: weir_edge_stats::rows",
    ][::core::mem::offset_of!(weir_edge_stats, rows) - 0usize];
    [
        "Offset of field: weir_edge_stats::bytes",
    ][::core::mem::offset_of!(weir_edge_stats, bytes) - 8usize];
    [
        "Offset of field: weir_edge_stats::frames",
    ][::core::mem::offset_of!(weir_edge_stats, frames) - 16usize];
    [
        "Offset of field: weir_edge_stats::filtered",
    ][::core::mem::offset_of!(weir_edge_stats, filtered) - 24usize];
};
unsafe extern "C" {
    pub fn weir_writer_stats(
        writer: *const weir_writer,
        dest: u32,
        stats_out: *mut weir_edge_stats,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_writer_close(writer: *mut weir_writer);
}
unsafe extern "C" {
    pub fn weir_reader_open(
        shuffle: *mut weir_shuffle,
        worker: u32,
        reader_out: *mut *mut weir_reader,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_reader_next(
        reader: *mut weir_reader,
        batch_out: *mut ArrowArray,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_reader_next_wait(
        reader: *mut weir_reader,
        batch_out: *mut ArrowArray,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_reader_error(
        reader: *const weir_reader,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_reader_destination(reader: *const weir_reader) -> u32;
}
unsafe extern "C" {
    pub fn weir_reader_source(
        reader: *const weir_reader,
        member_out: *mut u32,
        worker_out: *mut u32,
    );
}
unsafe extern "C" {
    pub fn weir_reader_source_ended(
        reader: *const weir_reader,
        member: u32,
        worker: u32,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn weir_reader_stop(reader: *mut weir_reader);
}
unsafe extern "C" {
    pub fn weir_reader_filter_open(reader: *mut weir_reader, n_keys: u64) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_reader_filter_add(
        reader: *mut weir_reader,
        keys: *const ArrowArray,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_reader_filter_send(reader: *mut weir_reader) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_reader_close(reader: *mut weir_reader);
}
unsafe extern "C" {
    pub fn weir_writer_layout(
        writer: *mut weir_writer,
        schema: *const ArrowSchema,
    ) -> weir_err;
}
pub type weir_report_fn = ::core::option::Option<
    unsafe extern "C" fn(arg: *mut ::core::ffi::c_void, line: *const ::core::ffi::c_char),
>;
unsafe extern "C" {
    pub fn weir_node_report(
        node: *mut weir_node,
        fn_: weir_report_fn,
        arg: *mut ::core::ffi::c_void,
    ) -> weir_err;
}
#[repr(C)]
#[derive(Debug)]
pub struct weir_row_writer {
    _unused: [u8; 0],
}
unsafe extern "C" {
    pub fn weir_row_writer_open(
        writer: *mut weir_writer,
        schema: *const ArrowSchema,
        rows: u32,
        row_writer_out: *mut *mut weir_row_writer,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_row_set_int64(
        rw: *mut weir_row_writer,
        column: u32,
        value: i64,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_row_set_double(
        rw: *mut weir_row_writer,
        column: u32,
        value: f64,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_row_set_bytes(
        rw: *mut weir_row_writer,
        column: u32,
        bytes: *const ::core::ffi::c_void,
        len: u64,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_row_end(rw: *mut weir_row_writer) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_row_writer_flush(rw: *mut weir_row_writer) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_row_end_wait(rw: *mut weir_row_writer) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_row_writer_flush_wait(rw: *mut weir_row_writer) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_row_writer_error(
        rw: *const weir_row_writer,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_row_writer_close(rw: *mut weir_row_writer);
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_row_cursor {
    pub batch: *const ArrowArray,
    pub schema: *const ArrowSchema,
    pub row: i64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of weir_row_cursor"][::core::mem::size_of::<weir_row_cursor>() - 24usize];
    [
        "Alignment of weir_row_cursor",
    ][::core::mem::align_of::<weir_row_cursor>() - 8usize];
    [
        "Offset of field: weir_row_cursor::batch",
    ][::core::mem::offset_of!(weir_row_cursor, batch) - 0usize];
    [
        "Offset of field: weir_row_cursor::schema",
    ][::core::mem::offset_of!(weir_row_cursor, schema) - 8usize];
    [
        "Offset of field: weir_row_cursor::row",
    ][::core::mem::offset_of!(weir_row_cursor, row) - 16usize];
};
impl Default for weir_row_cursor {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn weir_row_cursor_at(
        batch: *const ArrowArray,
        schema: *const ArrowSchema,
    ) -> weir_row_cursor;
}
unsafe extern "C" {
    pub fn weir_row_next(cursor: *mut weir_row_cursor) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn weir_row_is_null(
        c: *const weir_row_cursor,
        column: u32,
    ) -> ::core::ffi::c_int;
}
unsafe extern "C" {
    pub fn weir_row_int64(c: *const weir_row_cursor, column: u32) -> i64;
}
unsafe extern "C" {
    pub fn weir_row_double(c: *const weir_row_cursor, column: u32) -> f64;
}
unsafe extern "C" {
    pub fn weir_row_bytes(
        c: *const weir_row_cursor,
        column: u32,
        len_out: *mut u64,
    ) -> *const ::core::ffi::c_void;
}
#[repr(C)]
#[derive(Debug)]
pub struct weir_sim {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_sim_params {
    pub nodes: u32,
    pub seed: u64,
    pub bandwidth: u64,
    pub latency_ns: u64,
    pub jitter_ns: u64,
    pub frame_overhead_bytes: u32,
    pub node: weir_node_params,
    pub reserved: [u64; 4usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of weir_sim_params"][::core::mem::size_of::<weir_sim_params>() - 272usize];
    [
        "Alignment of weir_sim_params",
    ][::core::mem::align_of::<weir_sim_params>() - 8usize];
    [
        "Offset of field: weir_sim_params::nodes",
    ][::core::mem::offset_of!(weir_sim_params, nodes) - 0usize];
    [
        "Offset of field: weir_sim_params::seed",
    ][::core::mem::offset_of!(weir_sim_params, seed) - 8usize];
    [
        "Offset of field: weir_sim_params::bandwidth",
    ][::core::mem::offset_of!(weir_sim_params, bandwidth) - 16usize];
    [
        "Offset of field: weir_sim_params::latency_ns",
    ][::core::mem::offset_of!(weir_sim_params, latency_ns) - 24usize];
    [
        "Offset of field: weir_sim_params::jitter_ns",
    ][::core::mem::offset_of!(weir_sim_params, jitter_ns) - 32usize];
    [
        "Offset of field: weir_sim_params::frame_overhead_bytes",
    ][::core::mem::offset_of!(weir_sim_params, frame_overhead_bytes) - 40usize];
    [
        "Offset of field: weir_sim_params::node",
    ][::core::mem::offset_of!(weir_sim_params, node) - 48usize];
    [
        "Offset of field: weir_sim_params::reserved",
    ][::core::mem::offset_of!(weir_sim_params, reserved) - 240usize];
};
impl Default for weir_sim_params {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub type weir_sim_task_fn = ::core::option::Option<
    unsafe extern "C" fn(arg: *mut ::core::ffi::c_void, now_ns: u64) -> weir_err,
>;
unsafe extern "C" {
    pub fn weir_sim_open(
        params: *const weir_sim_params,
        sim_out: *mut *mut weir_sim,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_sim_close(sim: *mut weir_sim);
}
unsafe extern "C" {
    pub fn weir_sim_node(sim: *mut weir_sim, node: u32) -> *mut weir_node;
}
unsafe extern "C" {
    pub fn weir_sim_now(sim: *const weir_sim) -> u64;
}
unsafe extern "C" {
    pub fn weir_sim_task(
        sim: *mut weir_sim,
        node: u32,
        worker: u32,
        fn_: weir_sim_task_fn,
        arg: *mut ::core::ffi::c_void,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_sim_busy(sim: *mut weir_sim, ns: u64);
}
unsafe extern "C" {
    pub fn weir_sim_run(
        sim: *mut weir_sim,
        limit_ns: u64,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_sim_crash(sim: *mut weir_sim, node: u32, at_ns: u64);
}
unsafe extern "C" {
    pub fn weir_sim_restart(
        sim: *mut weir_sim,
        node: u32,
        err: *mut weir_error,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_sim_cut(sim: *mut weir_sim, a: u32, b: u32, at_ns: u64);
}
unsafe extern "C" {
    pub fn weir_sim_drop(sim: *mut weir_sim, a: u32, b: u32, at_ns: u64, until_ns: u64);
}
unsafe extern "C" {
    pub fn weir_sim_stall(sim: *mut weir_sim, node: u32, at_ns: u64, until_ns: u64);
}
unsafe extern "C" {
    pub fn weir_sim_sent_bytes(sim: *const weir_sim, node: u32) -> u64;
}
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct weir_node_stats {
    pub rows_sent: u64,
    pub bytes_sent: u64,
    pub frames_sent: u64,
    pub rows_received: u64,
    pub bytes_received: u64,
    pub frames_received: u64,
    pub pushes_blocked: u64,
    pub waits: u64,
    pub wakes: u64,
    pub links_open: u64,
    pub links_opened: u64,
    pub links_lost: u64,
    pub queries_open: u64,
    pub queries_failed: u64,
    pub memory_bytes: u64,
    pub memory_peak_bytes: u64,
    pub memory_plan_bytes: u64,
    pub memory_cap_bytes: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of weir_node_stats"][::core::mem::size_of::<weir_node_stats>() - 144usize];
    [
        "Alignment of weir_node_stats",
    ][::core::mem::align_of::<weir_node_stats>() - 8usize];
    [
        "Offset of field: weir_node_stats::rows_sent",
    ][::core::mem::offset_of!(weir_node_stats, rows_sent) - 0usize];
    [
        "Offset of field: weir_node_stats::bytes_sent",
    ][::core::mem::offset_of!(weir_node_stats, bytes_sent) - 8usize];
    [
        "Offset of field: weir_node_stats::frames_sent",
    ][::core::mem::offset_of!(weir_node_stats, frames_sent) - 16usize];
    [
        "Offset of field: weir_node_stats::rows_received",
    ][::core::mem::offset_of!(weir_node_stats, rows_received) - 24usize];
    [
        "Offset of field: weir_node_stats::bytes_received",
    ][::core::mem::offset_of!(weir_node_stats, bytes_received) - 32usize];
    [
        "Offset of field: weir_node_stats::frames_received",
    ][::core::mem::offset_of!(weir_node_stats, frames_received) - 40usize];
    [
        "Offset of field: weir_node_stats::pushes_blocked",
    ][::core::mem::offset_of!(weir_node_stats, pushes_blocked) - 48usize];
    [
        "Offset of field: weir_node_stats::waits",
    ][::core::mem::offset_of!(weir_node_stats, waits) - 56usize];
    [
        "Offset of field: weir_node_stats::wakes",
    ][::core::mem::offset_of!(weir_node_stats, wakes) - 64usize];
    [
        "Offset of field: weir_node_stats::links_open",
    ][::core::mem::offset_of!(weir_node_stats, links_open) - 72usize];
    [
        "Offset of field: weir_node_stats::links_opened",
    ][::core::mem::offset_of!(weir_node_stats, links_opened) - 80usize];
    [
        "Offset of field: weir_node_stats::links_lost",
    ][::core::mem::offset_of!(weir_node_stats, links_lost) - 88usize];
    [
        "Offset of field: weir_node_stats::queries_open",
    ][::core::mem::offset_of!(weir_node_stats, queries_open) - 96usize];
    [
        "Offset of field: weir_node_stats::queries_failed",
    ][::core::mem::offset_of!(weir_node_stats, queries_failed) - 104usize];
    [
        "Offset of field: weir_node_stats::memory_bytes",
    ][::core::mem::offset_of!(weir_node_stats, memory_bytes) - 112usize];
    [
        "Offset of field: weir_node_stats::memory_peak_bytes",
    ][::core::mem::offset_of!(weir_node_stats, memory_peak_bytes) - 120usize];
    [
        "Offset of field: weir_node_stats::memory_plan_bytes",
    ][::core::mem::offset_of!(weir_node_stats, memory_plan_bytes) - 128usize];
    [
        "Offset of field: weir_node_stats::memory_cap_bytes",
    ][::core::mem::offset_of!(weir_node_stats, memory_cap_bytes) - 136usize];
};
unsafe extern "C" {
    pub fn weir_node_stats_get(node: *mut weir_node, stats_out: *mut weir_node_stats);
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_link_stats {
    pub open: ::core::ffi::c_int,
    pub transport: [::core::ffi::c_char; 16usize],
    pub why: [::core::ffi::c_char; 256usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of weir_link_stats"][::core::mem::size_of::<weir_link_stats>() - 276usize];
    [
        "Alignment of weir_link_stats",
    ][::core::mem::align_of::<weir_link_stats>() - 4usize];
    [
        "Offset of field: weir_link_stats::open",
    ][::core::mem::offset_of!(weir_link_stats, open) - 0usize];
    [
        "Offset of field: weir_link_stats::transport",
    ][::core::mem::offset_of!(weir_link_stats, transport) - 4usize];
    [
        "Offset of field: weir_link_stats::why",
    ][::core::mem::offset_of!(weir_link_stats, why) - 20usize];
};
impl Default for weir_link_stats {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn weir_link_stats_get(
        node: *mut weir_node,
        member: u32,
        stats_out: *mut weir_link_stats,
    ) -> weir_err;
}
unsafe extern "C" {
    pub fn weir_node_why(
        node: *mut weir_node,
        address: *const ::core::ffi::c_char,
        text: *mut ::core::ffi::c_char,
        text_bytes: usize,
    ) -> weir_err;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct weir_step {
    pub fn_: ::core::option::Option<
        unsafe extern "C" fn(arg: *mut ::core::ffi::c_void) -> weir_err,
    >,
    pub arg: *mut ::core::ffi::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of weir_step"][::core::mem::size_of::<weir_step>() - 16usize];
    ["Alignment of weir_step"][::core::mem::align_of::<weir_step>() - 8usize];
    [
        "Offset of field: weir_step::fn_",
    ][::core::mem::offset_of!(weir_step, fn_) - 0usize];
    [
        "Offset of field: weir_step::arg",
    ][::core::mem::offset_of!(weir_step, arg) - 8usize];
};
impl Default for weir_step {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn weir_worker_run(
        node: *mut weir_node,
        worker: u32,
        steps: *mut weir_step,
        n: u32,
        timeout_ns: u64,
    ) -> weir_err;
}
