//! Walks the stack of this process from a signal handler, as the extension does, and looks for the
//! functions that were interrupted.

#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use selfbench_stacks::{End, Folder, Module, Registers, Sample, Segment, Walker, module_record};
use std::ffi::{CStr, c_int, c_void};
use std::hint::black_box;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*};

/// Data of the handler.
struct Sampler {
    walker: Walker,
    records: Vec<u8>,
    stack_end: u64,
}

static SAMPLER: AtomicPtr<Sampler> = AtomicPtr::new(std::ptr::null_mut());
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// Function that the test looks for.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn spin_until_sampled(depth: u32) -> u64 {
    if depth > 0 {
        return spin_until_sampled(black_box(depth - 1)) + 1;
    }
    let mut turns = 0;
    while TAKEN.load(Relaxed) == 0 {
        turns = black_box(turns + 1);
    }
    turns
}

unsafe extern "C" fn on_signal(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the context, and the sampler belongs to the thread that is
    // interrupted here.
    unsafe {
        let Some(sampler) = SAMPLER.load(Acquire).as_mut() else {
            return;
        };
        let machine = &(*context.cast::<libc::ucontext_t>()).uc_mcontext;
        #[cfg(target_arch = "x86_64")]
        let registers = Registers {
            pc: machine.gregs[libc::REG_RIP as usize] as u64,
            sp: machine.gregs[libc::REG_RSP as usize] as u64,
            fp: machine.gregs[libc::REG_RBP as usize] as u64,
            lr: 0,
        };
        #[cfg(target_arch = "aarch64")]
        let registers = Registers {
            pc: machine.pc,
            sp: machine.sp,
            fp: machine.regs[29],
            lr: machine.regs[30],
        };
        let stack = registers.sp..sampler.stack_end;
        let read = |address: u64| {
            (stack.contains(&address) && stack.contains(&(address + 7)))
                .then(|| (address as *const u64).read_unaligned())
        };
        let mut sample = Sample::default();
        let end = sampler.walker.walk(registers, read, &mut sample);
        sampler
            .records
            .extend_from_slice(sample.finish(end, 1, TAKEN.load(Relaxed)));
        TAKEN.fetch_add(1, Relaxed);
    }
}

unsafe extern "C" fn each_module(
    info: *mut libc::dl_phdr_info,
    _: usize,
    modules: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a module that is mapped, and `modules` is the vector below.
    unsafe {
        let (info, modules) = (&*info, &mut *modules.cast::<Vec<Module>>());
        let mut path = CStr::from_ptr(info.dlpi_name)
            .to_string_lossy()
            .into_owned();
        if path.is_empty() {
            path = std::env::current_exe()
                .unwrap()
                .to_string_lossy()
                .into_owned();
        }
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
        let mut segments = Vec::new();
        let (mut frames, mut notes) = (None, Vec::new());
        for header in headers {
            let range = header.p_vaddr..header.p_vaddr + header.p_memsz;
            match header.p_type {
                libc::PT_LOAD if header.p_flags & libc::PF_W == 0 => segments.push(Segment {
                    address: header.p_vaddr,
                    bytes: std::slice::from_raw_parts(
                        (info.dlpi_addr + header.p_vaddr) as *const u8,
                        header.p_filesz as usize,
                    ),
                    executable: header.p_flags & libc::PF_X != 0,
                }),
                libc::PT_GNU_EH_FRAME => frames = Some(range),
                libc::PT_NOTE => notes.push((range, header.p_align as usize)),
                _ => {}
            }
        }
        modules.extend(Module::new(path, info.dlpi_addr, &segments, frames, &notes));
    }
    0
}

#[test]
fn a_spinning_function_is_found_with_its_callers() {
    let mut modules: Vec<Module> = Vec::new();
    let mut limits = (std::ptr::null_mut(), 0);
    // SAFETY: the callback gets what it expects; the attributes are filled before they are read.
    unsafe {
        libc::dl_iterate_phdr(Some(each_module), (&raw mut modules).cast());
        let mut attributes = std::mem::zeroed();
        libc::pthread_getattr_np(libc::pthread_self(), &mut attributes);
        libc::pthread_attr_getstack(&attributes, &mut limits.0, &mut limits.1);
        libc::pthread_attr_destroy(&mut attributes);
    }
    assert!(modules.len() > 2, "the program, libc and the vDSO");
    let program = &modules[0];
    assert!(
        program
            .absolute()
            .contains(&(spin_until_sampled as *const () as u64))
    );
    let mut sampler = Sampler {
        walker: Walker::new(&modules),
        records: modules.iter().flat_map(module_record).collect(),
        stack_end: limits.0 as u64 + limits.1 as u64,
    };
    sampler.records.reserve(1 << 20);
    SAMPLER.store(&raw mut sampler, Release);
    // SAFETY: the signal goes to this thread, whose stack the sampler knows.
    let turns = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        assert_eq!(
            libc::sigaction(libc::SIGPROF, &action, std::ptr::null_mut()),
            0
        );
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGPROF;
        event.sigev_notify_thread_id = libc::gettid();
        let mut timer = std::ptr::null_mut();
        let clock = libc::CLOCK_THREAD_CPUTIME_ID;
        assert_eq!(libc::timer_create(clock, &mut event, &mut timer), 0);
        let mut when: libc::itimerspec = std::mem::zeroed();
        when.it_value.tv_nsec = 1_000_000;
        assert_eq!(
            libc::timer_settime(timer, 0, &when, std::ptr::null_mut()),
            0
        );
        let turns = spin_until_sampled(3);
        libc::timer_delete(timer);
        turns
    };
    SAMPLER.store(std::ptr::null_mut(), Release);
    assert!(turns > 3);
    let mut folder = Folder::new(None);
    assert_eq!(folder.take(0, (), &sampler.records, 0), (1, 0), "complete");
    let stacks = folder.finish();
    let frames: Vec<&str> = stacks[0].stack.split(';').collect();
    let spinning = frames.split(|frame| *frame != "spin_until_sampled");
    assert_eq!(spinning.map(<[&str]>::len).max(), Some(4), "{frames:?}");
    assert!(frames.contains(&"own_stack::a_spinning_function_is_found_with_its_callers"));
}

/// Whatever the registers, the stack and the tables are, walking ends, and nothing panics.
#[test]
fn garbage_is_walked_to_an_end() {
    let mut modules: Vec<Module> = Vec::new();
    // SAFETY: as above.
    unsafe { libc::dl_iterate_phdr(Some(each_module), (&raw mut modules).cast()) };
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut walker = Walker::new(&modules);
    let (mut ends, mut most) = ([0; 3], 0);
    for round in 0..20_000 {
        let mut code = || {
            let module = modules[random() as usize % modules.len()].absolute();
            module.start + random() % (module.end - module.start)
        };
        let pc = code();
        let stack: Vec<u64> = (0..32).map(|_| code()).collect();
        let base = 0x7fff_0000_0000u64;
        let sp = match round % 4 {
            0 => random(),
            _ => base + random() % 64,
        };
        let fp = match round % 3 {
            0 => random(),
            _ => base + random() % 512,
        };
        let read = |address: u64| {
            let offset = address.checked_sub(base)?;
            stack.get(usize::try_from(offset / 8).ok()?).copied()
        };
        let lr = stack[0];
        let mut sample = Sample::default();
        let end = walker.walk(Registers { pc, sp, fp, lr }, read, &mut sample);
        ends[match end {
            End::Root => 0,
            End::Full => 1,
            End::Unknown => 2,
        }] += 1;
        most = most.max(sample.frames());
    }
    assert!(most > 3, "{most}");
    assert!(ends[2] > 0, "{ends:?}");
}
