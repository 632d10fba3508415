//! Who armed an intent. It only chooses between waiting and acting; both are safe, and it is not a
//! fencing token (BLOCKER-02).

use serde::{Deserialize, Serialize};

use crate::ProcessInstanceId;

/// Facts about the process that armed an intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerRecord {
    /// The process instance.
    pub instance: ProcessInstanceId,
    /// Its process id.
    pub pid: u32,
    /// The pid namespace in which that id means something; none where there are no namespaces.
    pub pid_namespace: Option<String>,
    /// The boot of the machine; none where the system does not tell.
    pub boot_id: Option<String>,
    /// When the process started, in the system's own ticks since boot.
    pub process_start_ticks: Option<u64>,
    /// The machine's name, for people.
    pub host: String,
}
