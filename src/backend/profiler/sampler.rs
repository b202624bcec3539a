//! The timer of a sampled process and its signal handler.
//!
//! The handler may interrupt anything: malloc, a spinlock, another handler. So it allocates nothing,
//! takes no lock, calls nothing of the server and cannot panic. What it uses is a [`Sampler`] that
//! was built before. The rest of the process takes the sampler away before it touches it, and as the
//! signal goes to the same thread, a handler never sees it change.

use super::modules;
use crate::backend::process::at_exit;
use crate::clock;
use crate::shared::stack_area::StackArea;
use crate::shared::{Header, Phase};
use pgrx::pg_sys;
use scopeguard::guard;
use selfbench_stacks::{End, Module, Registers, Sample, Walker, module_record};
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::io;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};

/// Whether processes can be sampled.
pub const IS_SUPPORTED: bool = true;
/// CPU time between two samples. The kernel looks at such timers at its ticks, often 250 a second.
pub const PERIOD_NS: u64 = 5_000_000;

/// Data of the handler; null while this process is not sampled.
static SAMPLER: AtomicPtr<Sampler> = AtomicPtr::new(null_mut());
/// Whether a sample had code of no module.
static OUTDATED: AtomicBool = AtomicBool::new(false);

/// Walks stacks and writes samples.
struct Sampler {
    walker: Walker,
    sample: Sample,
    area: StackArea<'static>,
    header: &'static Header,
    /// End of the stack; it grows down from there.
    stack_end: u64,
    timer: libc::timer_t,
}

/// Sampling of this process, outside of the handler.
struct Sampling {
    timer: libc::timer_t,
    modules: Vec<Module>,
    /// The number of loaded modules when they were listed.
    loaded: u64,
}

thread_local! {
    static SAMPLING: RefCell<Option<Sampling>> = const { RefCell::new(None) };
    /// Whether the callbacks of this process have been registered; they stay.
    static REGISTERED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Starts to sample this process into its area.
pub(super) fn start(area: StackArea<'static>, header: &'static Header) -> Result<(), String> {
    stop();
    let stack_end = stack_end().ok_or("the end of its stack is unknown")?;
    let loaded = modules::loaded();
    let modules = recorded(modules::list(), &area);
    if modules.is_empty() {
        return Err("its modules are unknown".into());
    }
    install_handler()?;
    if !REGISTERED.replace(true) {
        at_exit(stop);
        // SAFETY: the callback is registered once and needs no argument.
        unsafe { pg_sys::RegisterXactCallback(Some(on_end_of_transaction), null_mut()) };
    }
    let timer = create_timer()?;
    publish(Box::new(Sampler {
        walker: Walker::new(&modules),
        sample: Sample::default(),
        area,
        header,
        stack_end,
        timer,
    }));
    SAMPLING.set(Some(Sampling {
        timer,
        modules,
        loaded,
    }));
    set_timer(timer, PERIOD_NS);
    Ok(())
}

/// Stops sampling this process, if it is sampled. A signal that is still on its way does nothing.
pub fn stop() {
    drop(withdraw());
    if let Some(sampling) = SAMPLING.take() {
        // SAFETY: made by `create_timer`, and not used any more.
        unsafe { libc::timer_delete(sampling.timer) };
    }
}

/// Calls `body`, during which this process is not sampled. The timer goes on: the kernel forgets what has
/// expired since its last tick when a timer is stopped, so a process that is often stopped would have no
/// sample.
pub fn without_sampling<T>(body: impl FnOnce() -> T) -> T {
    // Continues in all cases, unless sampling has been stopped.
    let _paused = guard(withdraw(), |sampler| {
        if SAMPLING.with_borrow(Option::is_some)
            && let Some(sampler) = sampler
        {
            publish(sampler);
        }
    });
    body()
}

/// Bytes of the vDSO that the kernel has mapped.
pub fn vdso() -> Option<&'static [u8]> {
    modules::vdso()
}

/// Writes the records of modules, and returns those for which there was room: samples refer to
/// modules by their numbers.
fn recorded(modules: Vec<Module>, area: &StackArea) -> Vec<Module> {
    let written = |module: &Module| area.write(&module_record(module));
    modules.into_iter().take_while(written).collect()
}

/// Lists modules again at the end of a transaction if a sample had code of none of them.
unsafe extern "C-unwind" fn on_end_of_transaction(event: pg_sys::XactEvent::Type, _: *mut c_void) {
    use pg_sys::XactEvent::{XACT_EVENT_ABORT, XACT_EVENT_COMMIT};
    if OUTDATED.load(Relaxed) && matches!(event, XACT_EVENT_COMMIT | XACT_EVENT_ABORT) {
        OUTDATED.store(false, Relaxed);
        SAMPLING.with_borrow_mut(|sampling| {
            if let Some(sampling) = sampling {
                sampling.renew();
            }
        });
    }
}

impl Sampling {
    /// Adds the modules that this process has loaded since the last list.
    fn renew(&mut self) {
        let loaded = modules::loaded();
        if loaded == self.loaded {
            // Code that was compiled during execution, for example.
            return;
        }
        let Some(mut sampler) = withdraw() else {
            return;
        };
        let known = |module: &Module| {
            let mut known = self.modules.iter();
            known.any(|known| known.bias == module.bias && known.path == module.path)
        };
        let new: Vec<Module> = modules::list().into_iter().filter(|m| !known(m)).collect();
        let wanted = new.len();
        let added = recorded(new, &sampler.area);
        // Modules for which there was no room are listed again next time.
        if added.len() == wanted {
            self.loaded = loaded;
        }
        self.modules.extend(added);
        sampler.walker = Walker::new(&self.modules);
        publish(sampler);
    }
}

/// Lets the handler use a sampler.
fn publish(sampler: Box<Sampler>) {
    SAMPLER.store(Box::into_raw(sampler), Release);
}

/// Takes the sampler away from the handler.
fn withdraw() -> Option<Box<Sampler>> {
    let sampler = SAMPLER.swap(null_mut(), AcqRel);
    // SAFETY: made by `publish`. The handler runs in this thread, hence not now, and from here on
    // does not see it.
    (!sampler.is_null()).then(|| unsafe { Box::from_raw(sampler) })
}

/// End of the calling thread's stack.
fn stack_end() -> Option<u64> {
    // SAFETY: the attributes are filled before they are read, and destroyed once.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return None;
        }
        let (mut begin, mut length) = (null_mut(), 0);
        let found = libc::pthread_attr_getstack(&attributes, &mut begin, &mut length);
        libc::pthread_attr_destroy(&mut attributes);
        (found == 0).then(|| begin as u64 + length as u64)
    }
}

/// Installs the handler, unless another one is.
fn install_handler() -> Result<(), String> {
    let handler = on_signal as *const () as usize;
    // SAFETY: both structures are valid; the handler does what a handler may do.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGPROF, std::ptr::null(), &mut before) != 0 {
            return Err(failed("sigaction"));
        }
        match before.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => {}
            other if other == handler => return Ok(()),
            _ => return Err("its SIGPROF has another handler".into()),
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        // On the stack of the interrupted code, which the server keeps from becoming too deep.
        // System calls continue where they can, as after all signals of the server.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        // Other handlers do not interrupt this one.
        libc::sigfillset(&mut action.sa_mask);
        match libc::sigaction(libc::SIGPROF, &action, null_mut()) {
            0 => Ok(()),
            _ => Err(failed("sigaction")),
        }
    }
}

/// A timer for the CPU time of this thread, which is not set. Its signals carry the address of
/// [`SAMPLER`].
fn create_timer() -> Result<libc::timer_t, String> {
    // SAFETY: all-zero is a valid event; the timer is written before it is read.
    unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGPROF;
        event.sigev_notify_thread_id = libc::gettid();
        event.sigev_value.sival_ptr = (&raw const SAMPLER).cast_mut().cast();
        let mut timer = null_mut();
        match libc::timer_create(libc::CLOCK_THREAD_CPUTIME_ID, &mut event, &mut timer) {
            0 => Ok(timer),
            _ => Err(failed("timer_create")),
        }
    }
}

/// Lets the timer expire each `period_ns`; never for 0. A signal handler may call it.
fn set_timer(timer: libc::timer_t, period_ns: u64) {
    let period = libc::timespec {
        tv_sec: (period_ns / 1_000_000_000) as _,
        tv_nsec: (period_ns % 1_000_000_000) as _,
    };
    let value = libc::itimerspec {
        it_interval: period,
        it_value: period,
    };
    // SAFETY: an existing timer, and a valid value.
    unsafe { libc::timer_settime(timer, 0, &value, null_mut()) };
}

fn failed(what: &str) -> String {
    let error = io::Error::last_os_error();
    format!("{what}: {}", crate::error::reason(&error))
}

/// The handler.
unsafe extern "C" fn on_signal(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes valid pointers. The sampler, if there is one, is not in use, since
    // this thread was interrupted here and the signal is blocked while it is handled.
    unsafe {
        let errno = libc::__errno_location();
        let saved = *errno;
        let own = (*info).si_code == libc::SI_TIMER
            && (*info).si_value().sival_ptr == (&raw const SAMPLER).cast_mut().cast();
        if own
            && let Some(sampler) = SAMPLER.load(Acquire).as_mut()
            && !context.is_null()
        {
            sampler.take(registers(&*context.cast()));
        }
        *errno = saved;
    }
}

impl Sampler {
    /// Takes a sample of the code with these registers.
    fn take(&mut self, registers: Registers) {
        if self.header.phase() > Phase::Running {
            set_timer(self.timer, 0);
            return;
        }
        let (at_ns, begin_ns) = (clock::now_ns(), clock::thread_cpu_ns());
        // SAFETY: a timer that exists while the sampler does.
        let missed = unsafe { libc::timer_getoverrun(self.timer) };
        let expired = 1 + u32::try_from(missed).unwrap_or(0);
        // Between the stack pointer and its end, the stack is mapped. A handler on another stack
        // has a stack pointer from which nothing can be read.
        let stack = registers.sp..self.stack_end;
        let read = |address: u64| {
            let last = address.checked_add(7)?;
            // SAFETY: within the part of the stack that is in use.
            (stack.contains(&address) && stack.contains(&last))
                .then(|| unsafe { (address as *const u64).read_unaligned() })
        };
        self.sample.clear();
        let end = self.walker.walk(registers, read, &mut self.sample);
        if end == End::Unknown {
            OUTDATED.store(true, Relaxed);
        }
        let measure_ns = self.header.measure_ns.load(Relaxed);
        if measure_ns == 0 || at_ns < measure_ns {
            // The warm-up loads libraries and fills the walker's cache.
            return;
        }
        let written = self.area.write(self.sample.finish(end, expired, at_ns));
        let lost = if written { 0 } else { u64::from(expired) };
        let cost_ns = clock::thread_cpu_ns().saturating_sub(begin_ns);
        self.area.count(cost_ns, lost);
    }
}

#[cfg(target_arch = "x86_64")]
fn registers(context: &libc::ucontext_t) -> Registers {
    let [pc, sp, fp] = [libc::REG_RIP, libc::REG_RSP, libc::REG_RBP].map(|register| {
        *context
            .uc_mcontext
            .gregs
            .get(register as usize)
            .unwrap_or(&0) as u64
    });
    Registers { pc, sp, fp, lr: 0 }
}

#[cfg(target_arch = "aarch64")]
fn registers(context: &libc::ucontext_t) -> Registers {
    let machine = &context.uc_mcontext;
    Registers {
        pc: machine.pc,
        sp: machine.sp,
        fp: machine.regs[29],
        lr: machine.regs[30],
    }
}
