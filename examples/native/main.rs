//! Reads images of digits, 64 numbers each, from standard input, and prints what they are.

use std::ffi::{c_char, c_int, c_void, CStr};
use std::io::Read;
use std::ptr::null_mut;

/// The part of `digits.h` that this program uses.
mod digits {
    use super::*;

    #[repr(C)]
    pub struct DLDataType {
        pub code: u8,
        pub bits: u8,
        pub lanes: u16,
    }

    #[repr(C)]
    pub struct DLTensor {
        pub data: *mut c_void,
        pub device_type: c_int,
        pub device_id: i32,
        pub ndim: i32,
        pub dtype: DLDataType,
        pub shape: *mut i64,
        pub strides: *mut i64,
        pub byte_offset: u64,
    }

    #[repr(C)]
    pub struct DLManagedTensor {
        pub dl_tensor: DLTensor,
        pub manager_ctx: *mut c_void,
        pub deleter: unsafe extern "C" fn(*mut DLManagedTensor),
    }

    pub enum Handle {}

    #[link(name = "digits")]
    extern "C" {
        pub fn digits_create(threads: c_int, handle: *mut *mut Handle) -> c_int;
        pub fn digits_destroy(handle: *mut Handle);
        pub fn digits_run(
            handle: *mut Handle,
            entry: c_int,
            inputs: *const *const DLTensor,
            input_count: c_int,
            outputs: *mut *mut DLManagedTensor,
            output_count: c_int,
        ) -> c_int;
        pub fn digits_error_text() -> *const c_char;
    }
}

use digits::*;

const CPU: c_int = 1;
const FLOAT32: DLDataType = DLDataType { code: 2, bits: 32, lanes: 1 };

fn check(status: c_int) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    let text = unsafe { CStr::from_ptr(digits_error_text()) };
    Err(text.to_string_lossy().into_owned())
}

/// The network: free to go from thread to thread, and to be called by many at once.
struct Network(*mut Handle);

unsafe impl Send for Network {}
unsafe impl Sync for Network {}

impl Network {
    fn new() -> Result<Self, String> {
        let mut handle = null_mut();
        check(unsafe { digits_create(0, &mut handle) })?;
        Ok(Network(handle))
    }

    /// The digit of each image, and how sure the network is.
    fn classify(&self, pixels: &mut [f32]) -> Result<Vec<(i32, f32)>, String> {
        let mut shape = [(pixels.len() / 64) as i64, 64];
        let images = DLTensor {
            data: pixels.as_mut_ptr().cast(),
            device_type: CPU,
            device_id: 0,
            ndim: 2,
            dtype: FLOAT32,
            shape: shape.as_mut_ptr(),
            strides: null_mut(),
            byte_offset: 0,
        };
        let inputs: [*const DLTensor; 1] = [&images];
        let mut outputs = [null_mut(); 2];
        unsafe {
            check(digits_run(self.0, 0, inputs.as_ptr(), 1, outputs.as_mut_ptr(), 2))?;
            let count = shape[0] as usize;
            let digits = std::slice::from_raw_parts((*outputs[0]).dl_tensor.data as *const i32, count);
            let sure = std::slice::from_raw_parts((*outputs[1]).dl_tensor.data as *const f32, count);
            let found = digits.iter().copied().zip(sure.iter().copied()).collect();
            for output in outputs {
                ((*output).deleter)(output);
            }
            Ok(found)
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        unsafe { digits_destroy(self.0) }
    }
}

fn main() -> Result<(), String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|e| e.to_string())?;
    let pixels: Result<Vec<f32>, _> = text.split_whitespace().map(str::parse).collect();
    let mut pixels = pixels.map_err(|e| e.to_string())?;
    for (digit, sure) in Network::new()?.classify(&mut pixels)? {
        println!("{digit} {sure:.3}");
    }
    Ok(())
}
