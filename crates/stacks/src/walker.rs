//! Walking a stack by the unwind tables of the modules.
//!
//! The tables say for each instruction where the caller's registers are, so that code without frame
//! pointers can be walked. Walking neither allocates nor locks: a signal handler may do it.

use crate::module::Module;
use crate::record::{End, Sample};
use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, MustNotAllocateDuringUnwind,
    UnwindRegsNative, Unwinder as _, UnwinderNative,
};
use std::ops::Range;

/// The registers of an interrupted thread.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    /// The program counter.
    pub pc: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The register that may be the frame pointer.
    pub fp: u64,
    /// The link register, where there is one.
    pub lr: u64,
}

/// Walker of the stacks of one process.
pub struct Walker {
    unwinder: UnwinderNative<&'static [u8], MustNotAllocateDuringUnwind>,
    cache: CacheNative<MustNotAllocateDuringUnwind>,
    /// Modules in the order of their addresses.
    known: Vec<Known>,
}

/// A module.
struct Known {
    absolute: Range<u64>,
    bias: u64,
    number: u16,
}

impl Walker {
    /// Creates a walker for a process with these modules. Their numbers in samples are their
    /// positions.
    pub fn new(modules: &[Module]) -> Walker {
        let mut unwinder = UnwinderNative::new();
        let mut known = Vec::with_capacity(modules.len());
        for (number, module) in modules.iter().enumerate() {
            let Ok(number) = u16::try_from(number) else {
                break;
            };
            known.push(Known {
                absolute: module.absolute(),
                bias: module.bias,
                number,
            });
            let Some(unwinding) = &module.unwinding else {
                continue;
            };
            let range = |segment: &crate::Segment| {
                Some(segment.address..segment.address + segment.bytes.len() as u64)
            };
            let sections = ExplicitModuleSectionInfo {
                base_svma: 0,
                eh_frame_hdr_svma: range(&unwinding.header),
                eh_frame_hdr: Some(unwinding.header.bytes),
                eh_frame_svma: range(&unwinding.frames),
                eh_frame: Some(unwinding.frames.bytes),
                ..Default::default()
            };
            unwinder.add_module(framehop::Module::new(
                module.path.clone(),
                module.absolute(),
                module.bias,
                sections,
            ));
        }
        known.sort_unstable_by_key(|known| known.absolute.start);
        Walker {
            unwinder,
            cache: CacheNative::new_in(),
            known,
        }
    }

    /// Walks a stack from these registers and adds its frames to `sample`, the leaf first. `read`
    /// returns the word at an address, `None` outside of the stack.
    #[inline]
    pub fn walk(
        &mut self,
        registers: Registers,
        mut read: impl FnMut(u64) -> Option<u64>,
        sample: &mut Sample,
    ) -> End {
        let mut state = start(registers, &self.unwinder);
        let mut address = FrameAddress::from_instruction_pointer(registers.pc);
        let mut read = |address| read(address).ok_or(());
        loop {
            // A fallback for code without tables could lead anywhere: it is not followed.
            let lookup = address.address_for_lookup();
            let Some((number, within)) = self.find(lookup) else {
                return End::Unknown;
            };
            if !sample.push(number, within) {
                return End::Full;
            }
            let caller =
                self.unwinder
                    .unwind_frame(address, &mut state, &mut self.cache, &mut read);
            match caller {
                Ok(Some(caller)) => match FrameAddress::from_return_address(caller) {
                    Some(caller) => address = caller,
                    None => return End::Root,
                },
                Ok(None) => return End::Root,
                Err(_) => return End::Unknown,
            }
        }
    }

    /// The number of the module with an absolute address, and the address in the module.
    #[inline]
    fn find(&self, address: u64) -> Option<(u16, u64)> {
        let after = self
            .known
            .partition_point(|known| known.absolute.start <= address);
        let known = self.known.get(after.checked_sub(1)?)?;
        known
            .absolute
            .contains(&address)
            .then(|| (known.number, address.wrapping_sub(known.bias)))
    }
}

#[cfg(target_arch = "x86_64")]
fn start(
    registers: Registers,
    _: &UnwinderNative<&'static [u8], MustNotAllocateDuringUnwind>,
) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.pc, registers.sp, registers.fp)
}

#[cfg(target_arch = "aarch64")]
fn start(
    registers: Registers,
    unwinder: &UnwinderNative<&'static [u8], MustNotAllocateDuringUnwind>,
) -> UnwindRegsNative {
    // Return addresses may be signed, in bits above those of addresses.
    let mask = framehop::aarch64::PtrAuthMask::from_max_known_address(
        unwinder.max_known_code_address().max(1 << 47),
    );
    UnwindRegsNative::new_with_ptr_auth_mask(mask, registers.lr, registers.sp, registers.fp)
}
