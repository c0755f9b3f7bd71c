//! The tool interface: control variables of the MPI, which are found by name and set while it runs (MPI 5.0, chapter 15).

use super::super::variant::Value;
use super::library::{Handle, Object, succeeded};
use anyhow::Context;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};

type Init = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
type Index = unsafe extern "C" fn(*const c_char, *mut c_int) -> c_int;
type Info = unsafe extern "C" fn(
    c_int,
    *mut c_char,
    *mut c_int,
    *mut c_int,
    *mut Handle,
    *mut *mut c_void,
    *mut c_char,
    *mut c_int,
    *mut c_int,
    *mut c_int,
) -> c_int;
type Allocate = unsafe extern "C" fn(c_int, *mut c_void, *mut *mut c_void, *mut c_int) -> c_int;
type Read = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
type Write = unsafe extern "C" fn(*mut c_void, *const c_void) -> c_int;
type EnumInfo = unsafe extern "C" fn(*mut c_void, *mut c_int, *mut c_char, *mut c_int) -> c_int;
type EnumItem =
    unsafe extern "C" fn(*mut c_void, c_int, *mut c_int, *mut c_char, *mut c_int) -> c_int;

/// The longest text that is asked for.
const LONGEST: usize = 16 << 10;

/// The control variables of an MPI.
pub struct Tool {
    index: Index,
    info: Info,
    allocate: Allocate,
    read: Read,
    write: Write,
    enum_info: EnumInfo,
    enum_item: EnumItem,
    known: RefCell<HashMap<String, Option<Variable>>>,
}

/// A control variable.
#[derive(Clone)]
struct Variable {
    handle: *mut c_void,
    /// What its values are called, where they have names.
    names: Vec<(String, i64)>,
}

/// What a variable had before it was set.
pub struct Before(Vec<(String, i64)>);

impl Tool {
    /// Starts the tool interface.
    pub fn start(object: Object) -> anyhow::Result<Tool> {
        // SAFETY: the types are those of MPI 5.0 for the functions of these names.
        let (init, tool): (Init, Tool) = unsafe {
            let tool = Tool {
                index: object.function(c"MPI_T_cvar_get_index")?,
                info: object.function(c"MPI_T_cvar_get_info")?,
                allocate: object.function(c"MPI_T_cvar_handle_alloc")?,
                read: object.function(c"MPI_T_cvar_read")?,
                write: object.function(c"MPI_T_cvar_write")?,
                enum_info: object.function(c"MPI_T_enum_get_info")?,
                enum_item: object.function(c"MPI_T_enum_get_item")?,
                known: RefCell::default(),
            };
            (object.function(c"MPI_T_init_thread")?, tool)
        };
        let mut provided = 0;
        // SAFETY: there is a number to write to; one thread is the least that can be asked for.
        succeeded("MPI_T_init_thread", unsafe { init(0, &raw mut provided) })?;
        Ok(tool)
    }

    /// Whether the library has a variable, and, if the value is a name, that value.
    pub fn has(&self, name: &str, value: &Value) -> bool {
        let variable = self.variable(name);
        variable.is_some_and(|variable| variable.number(value).is_some())
    }

    /// Sets variables; gives what they had before.
    pub fn set(&self, wanted: &[(String, Value)]) -> anyhow::Result<Before> {
        let mut before = Vec::new();
        for (name, value) in wanted {
            let variable = self
                .variable(name)
                .with_context(|| format!("this MPI has no control variable {name}"))?;
            let number = variable
                .number(value)
                .with_context(|| format!("{name} has no value {value:?}"))?;
            before.push((name.clone(), self.get(&variable)?));
            self.put(name, &variable, number)?;
        }
        Ok(Before(before))
    }

    /// Gives variables back what they had, the last one first.
    pub fn restore(&self, before: &Before) -> anyhow::Result<()> {
        for (name, number) in before.0.iter().rev() {
            let variable = self.variable(name).context("it was there before")?;
            self.put(name, &variable, *number)?;
        }
        Ok(())
    }

    fn get(&self, variable: &Variable) -> anyhow::Result<i64> {
        // A shorter value goes into the low bytes.
        let mut number = 0_i64;
        // SAFETY: the handle is open, and no single number is longer.
        succeeded("MPI_T_cvar_read", unsafe {
            (self.read)(variable.handle, (&raw mut number).cast())
        })?;
        Ok(number)
    }

    fn put(&self, name: &str, variable: &Variable, number: i64) -> anyhow::Result<()> {
        // SAFETY: the handle is open; of a shorter value the low bytes are read.
        let status = unsafe { (self.write)(variable.handle, (&raw const number).cast()) };
        succeeded("MPI_T_cvar_write", status).with_context(|| format!("{name} = {number}"))
    }

    fn variable(&self, name: &str) -> Option<Variable> {
        if let Some(known) = self.known.borrow().get(name) {
            return known.clone();
        }
        let found = self.look_up(name);
        let mut known = self.known.borrow_mut();
        known.insert(name.to_string(), found.clone());
        found
    }

    fn look_up(&self, name: &str) -> Option<Variable> {
        let text = CString::new(name).ok()?;
        let mut index = 0;
        // SAFETY: the text ends with a zero; there is a number to write to.
        let found = unsafe { (self.index)(text.as_ptr(), &raw mut index) };
        if found != 0 {
            return None;
        }
        let (own_name, says) = (&mut vec![0_u8; LONGEST], &mut vec![0_u8; LONGEST]);
        let (mut name_length, mut says_length) = (LONGEST as c_int, LONGEST as c_int);
        let (mut verbosity, mut bind, mut scope) = (0, 0, 0);
        let (mut datatype, mut values): (Handle, *mut c_void) = (0, std::ptr::null_mut());
        // SAFETY: the lengths say how much room the texts have; all else has room for one of its kind.
        let status = unsafe {
            (self.info)(
                index,
                own_name.as_mut_ptr().cast(),
                &raw mut name_length,
                &raw mut verbosity,
                &raw mut datatype,
                &raw mut values,
                says.as_mut_ptr().cast(),
                &raw mut says_length,
                &raw mut bind,
                &raw mut scope,
            )
        };
        let (mut handle, mut count) = (std::ptr::null_mut(), 0);
        // SAFETY: the index is of a variable that belongs to no object, for which null stands.
        let allocated = unsafe {
            (self.allocate)(index, std::ptr::null_mut(), &raw mut handle, &raw mut count)
        };
        if status != 0 || allocated != 0 || count != 1 {
            return None;
        }
        let names = match values.is_null() {
            true => described(&text_of(says)),
            false => self.enumerated(values),
        };
        Some(Variable { handle, names })
    }

    /// The names and numbers of an enumeration.
    fn enumerated(&self, values: *mut c_void) -> Vec<(String, i64)> {
        let (mut count, mut length) = (0, LONGEST as c_int);
        let name = &mut vec![0_u8; LONGEST];
        // SAFETY: the enumeration is the library's; the length says how much room the text has.
        let status = unsafe {
            (self.enum_info)(
                values,
                &raw mut count,
                name.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        let mut names = Vec::new();
        for at in 0..if status == 0 { count } else { 0 } {
            let (mut value, mut length) = (0, LONGEST as c_int);
            // SAFETY: as above, and there are so many items.
            let status = unsafe {
                (self.enum_item)(
                    values,
                    at,
                    &raw mut value,
                    name.as_mut_ptr().cast(),
                    &raw mut length,
                )
            };
            if status == 0 {
                names.push((text_of(name), i64::from(value)));
            }
        }
        names
    }
}

impl Variable {
    fn number(&self, value: &Value) -> Option<i64> {
        match value {
            Value::Number(number) => Some(*number),
            Value::Named(name) => {
                let known = self.names.iter().find(|(known, _)| known == name);
                known.map(|(_, number)| *number)
            }
        }
    }
}

/// The text up to its zero.
fn text_of(bytes: &[u8]) -> String {
    let text = CStr::from_bytes_until_nul(bytes).unwrap_or_default();
    text.to_string_lossy().into_owned()
}

/// The names of values that MPICH lists in a variable's description, a line each as `name - what it does`: its numbers count them.
fn described(says: &str) -> Vec<(String, i64)> {
    let names = says.lines().filter_map(|line| {
        let (name, _) = line.split_once(" - ")?;
        let name = name.trim();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_string())
    });
    names.zip(0..).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_mpich_are_counted_as_it_describes_them() {
        let says = "Variable to select bcast algorithm\nauto - Internal algorithm selection (can be overridden)\n\
                    binomial                                - Force Binomial Tree\nnb       - Force nonblocking algorithm";
        let named: Vec<(String, i64)> = described(says);
        assert_eq!(
            named,
            [
                ("auto".to_string(), 0),
                ("binomial".into(), 1),
                ("nb".into(), 2)
            ]
        );
        assert!(described("Select composition 0 Auto 1 NM + SHM - and more").is_empty());
    }
}
